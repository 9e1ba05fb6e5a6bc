// SPDX-License-Identifier: Apache-2.0
#include "sources/rows.hpp"

#include <algorithm>

namespace vcap {

std::int64_t Rows::count() const noexcept {
  std::int64_t count = 0;
  for (const RowRange& range : ranges_) count += range.end - range.begin;
  return count;
}

bool Rows::contains(std::int64_t row) const noexcept {
  const auto behind = std::ranges::upper_bound(ranges_, row, {}, &RowRange::begin);
  return behind != ranges_.begin() && row < std::prev(behind)->end;
}

std::optional<std::int64_t> Rows::at_or_after(std::int64_t row) const noexcept {
  const auto range = std::ranges::upper_bound(ranges_, row, {}, &RowRange::end);
  if (range == ranges_.end()) return std::nullopt;
  return std::max(row, range->begin);
}

void Rows::add(RowRange range) {
  if (range.begin >= range.end) return;
  // Merges all ranges that touch it; usually that is at most the last one.
  const auto first = std::ranges::lower_bound(ranges_, range.begin, {}, &RowRange::end);
  auto last = first;
  for (; last != ranges_.end() && last->begin <= range.end; ++last) {
    range.begin = std::min(range.begin, last->begin);
    range.end = std::max(range.end, last->end);
  }
  ranges_.insert(ranges_.erase(first, last), range);
}

void Rows::add(const Rows& others) {
  for (const RowRange& range : others.ranges_) add(range);
}

Rows Rows::widened(std::int64_t back, std::int64_t ahead, std::int64_t end) const {
  Rows wider;
  for (const RowRange& range : ranges_)
    wider.add({std::max<std::int64_t>(range.begin - back, 0),
               ahead < end - range.end ? range.end + ahead : end});
  return wider;
}

}  // namespace vcap
