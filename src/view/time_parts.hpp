// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace vcap {

/// Counts over the time of a stream, in at most 512 equally long parts. If a time lies beyond the
/// last part, parts are joined in pairs until it fits. Thread safety: value.
class TimeParts {
 public:
  struct Part {
    std::int64_t frames = 0;
    std::vector<std::int64_t> counts{};  ///< by series; shorter than the number of series if 0
  };
  static constexpr std::size_t kMost = 512;

  /// The part of this time, for adding. A time before the stream's start counts as its start.
  Part& at(std::chrono::nanoseconds pts);
  void add(std::chrono::nanoseconds pts, std::size_t series, std::int64_t count);

  std::chrono::nanoseconds length_of_part() const noexcept { return length_; }
  const std::vector<Part>& parts() const noexcept { return parts_; }
  /// Objects per frame of a series in a part; 0 without frames.
  double mean(std::size_t part, std::size_t series) const noexcept;

 private:
  void join_pairs();

  std::chrono::nanoseconds length_ = std::chrono::milliseconds(100);
  std::vector<Part> parts_;
};

}  // namespace vcap
