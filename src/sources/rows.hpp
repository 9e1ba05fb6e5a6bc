// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "vcap/sources/row_range.hpp"

namespace vcap {

/// The number of frames of a stream with an unknown end: more than any clip has.
inline constexpr std::int64_t kEndlessRows = std::numeric_limits<std::int64_t>::max() / 4;

/// A set of rows, as ascending ranges that do not touch. Thread safety: value.
class Rows {
 public:
  Rows() = default;
  explicit Rows(RowRange range) { add(range); }

  bool empty() const noexcept { return ranges_.empty(); }
  const std::vector<RowRange>& ranges() const noexcept { return ranges_; }
  std::int64_t count() const noexcept;
  /// From the first row to the one after the last; requires a non-empty set.
  RowRange hull() const noexcept { return {ranges_.front().begin, ranges_.back().end}; }
  bool contains(std::int64_t row) const noexcept;
  /// The first row of the set at or after `row`.
  std::optional<std::int64_t> at_or_after(std::int64_t row) const noexcept;

  /// Ignores an empty range.
  void add(RowRange range);
  void add(const Rows& others);
  /// Each range extended by `back` and `ahead`, within 0 to `end`.
  Rows widened(std::int64_t back, std::int64_t ahead, std::int64_t end) const;

  bool operator==(const Rows&) const = default;

 private:
  std::vector<RowRange> ranges_;
};

}  // namespace vcap
