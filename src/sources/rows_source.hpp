// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "sources/rows.hpp"
#include "vcap/base/export.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

/// Gives of a source, which is read from its beginning, the frames of some rows, as they are.
/// Thread safety: as Source.
class VCAP_EXPORT RowsSource final : public Source {
 public:
  /// `needed`: those of them without which reading fails with SourceError (source_read), where the
  /// source ends before. Rows up to kEndlessRows mean all there are.
  RowsSource(std::unique_ptr<Source> in_order, Rows rows, Rows needed);

  SourceInfo info() const override;
  std::optional<Frame> read() override;
  void interrupt() noexcept override;

 private:
  void check_end() const;

  const std::unique_ptr<Source> in_order_;
  const Rows rows_;
  const Rows needed_;
  std::int64_t next_ = 0;  ///< the row that comes next
  std::atomic<bool> interrupted_{false};
};

}  // namespace vcap
