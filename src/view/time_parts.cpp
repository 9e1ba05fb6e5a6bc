// SPDX-License-Identifier: Apache-2.0
#include "view/time_parts.hpp"

#include <algorithm>

namespace vcap {

TimeParts::Part& TimeParts::at(std::chrono::nanoseconds pts) {
  pts = std::max(pts, std::chrono::nanoseconds(0));
  while (pts / length_ >= static_cast<std::int64_t>(kMost)) join_pairs();
  const auto index = static_cast<std::size_t>(pts / length_);
  if (parts_.size() <= index) parts_.resize(index + 1);
  return parts_[index];
}

void TimeParts::add(std::chrono::nanoseconds pts, std::size_t series, std::int64_t count) {
  std::vector<std::int64_t>& counts = at(pts).counts;
  if (counts.size() <= series) counts.resize(series + 1);
  counts[series] += count;
}

void TimeParts::join_pairs() {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (i % 2 == 0) {
      if (i > 0) parts_[i / 2] = std::move(parts_[i]);
      continue;
    }
    Part& into = parts_[i / 2];
    into.frames += parts_[i].frames;
    into.counts.resize(std::max(into.counts.size(), parts_[i].counts.size()));
    for (std::size_t series = 0; series < parts_[i].counts.size(); ++series)
      into.counts[series] += parts_[i].counts[series];
  }
  parts_.resize((parts_.size() + 1) / 2);
  length_ *= 2;
}

double TimeParts::mean(std::size_t part, std::size_t series) const noexcept {
  const Part& one = parts_[part];
  if (one.frames == 0 || series >= one.counts.size()) return 0;
  return static_cast<double>(one.counts[series]) / static_cast<double>(one.frames);
}

}  // namespace vcap
