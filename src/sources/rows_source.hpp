// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "sources/rows.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

/// Reads a source from its beginning and gives the frames of some rows, unchanged. Thread safety:
/// as Source.
class RowsSource final : public Source {
 public:
  /// `needed`: the rows that must exist; if the source ends before them, read() throws SourceError
  /// (source_read). Rows up to kEndlessRows mean all that there are.
  RowsSource(std::unique_ptr<Source> in_order, Rows rows, Rows needed);

  SourceInfo info() const override;
  std::optional<Frame> read() override;
  BrokenPictures broken_pictures() const override { return in_order_->broken_pictures(); }
  void interrupt() noexcept override;

 private:
  void check_end() const;

  const std::unique_ptr<Source> in_order_;
  const Rows rows_;
  const Rows needed_;
  std::int64_t next_ = 0;  ///< the next row of `in_order_`
  std::atomic<bool> interrupted_{false};
};

}  // namespace vcap
