// SPDX-License-Identifier: Apache-2.0
#include "cluster/continued_source.hpp"

#include <utility>

#include "vcap/base/error.hpp"

namespace vcap {

void SourceEnd::request() {
  const MutexLock lock(mutex_);
  requested_ = true;
  if (source_) source_->interrupt();
}

ContinuedSource::ContinuedSource(std::unique_ptr<Source> source, Begin begin,
                                 std::shared_ptr<SourceEnd> end)
    : source_(std::move(source)), begin_(begin), end_(std::move(end)) {
  const MutexLock lock(end_->mutex_);
  end_->source_ = source_.get();
  if (end_->requested_) source_->interrupt();
}

ContinuedSource::~ContinuedSource() {
  const MutexLock lock(end_->mutex_);
  end_->source_ = nullptr;
}

bool ContinuedSource::is_ending() const {
  const MutexLock lock(end_->mutex_);
  return end_->requested_;
}

std::optional<Frame> ContinuedSource::read() {
  if (is_ending()) return std::nullopt;
  std::optional<Frame> frame;
  try {
    frame = source_->read();
  } catch (const SourceError&) {
    if (is_ending()) return std::nullopt;  // an interrupted source may say so
    throw;
  }
  if (!frame || is_ending()) return std::nullopt;
  frame->index += begin_.frame_index;
  frame->pts += begin_.pts;
  if (!std::exchange(has_begun_, true) && !begin_.is_first)
    frame->discontinuity = Discontinuity::reconnect;
  return frame;
}

}  // namespace vcap
