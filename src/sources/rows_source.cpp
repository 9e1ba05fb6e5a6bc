// SPDX-License-Identifier: Apache-2.0
#include "sources/rows_source.hpp"

#include <string>
#include <utility>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

RowsSource::RowsSource(std::unique_ptr<Source> in_order, Rows rows, Rows needed)
    : in_order_(std::move(in_order)), rows_(std::move(rows)), needed_(std::move(needed)) {}

SourceInfo RowsSource::info() const { return in_order_->info(); }

void RowsSource::interrupt() noexcept {
  interrupted_ = true;
  in_order_->interrupt();
}

std::optional<Frame> RowsSource::read() {
  while (rows_.at_or_after(next_)) {
    std::optional<Frame> frame = in_order_->read();
    if (!frame) {
      if (!interrupted_) check_end();
      return std::nullopt;
    }
    next_ = frame->index + 1;
    if (rows_.contains(frame->index)) return frame;
  }
  return std::nullopt;
}

void RowsSource::check_end() const {
  const std::optional<std::int64_t> missing = needed_.at_or_after(next_);
  if (!missing || needed_.hull().end == kEndlessRows) return;
  throw SourceError(ErrorCode::source_read, in_order_->info().description + " ends after " +
                                                counted(next_, "frame") + ", but frame " +
                                                std::to_string(*missing) + " was requested");
}

}  // namespace vcap
