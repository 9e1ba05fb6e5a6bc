// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// How whole numbers (nanoseconds, sizes) were spread: a count for each of a fixed set of buckets,
/// whose width grows with the number. Exact below 64, within 1/32 above; nothing is out of range.
/// (The layout is that of Gil Tene's HdrHistogram with five bits of precision.)
/// Thread safety: value.
class VCAP_EXPORT Histogram {
 public:
  /// Numbers from `low` to `high`, both included, came `count` times.
  struct Bucket {
    std::uint64_t low;
    std::uint64_t high;
    std::uint64_t count;
    bool operator==(const Bucket&) const = default;
  };

  void add(std::uint64_t number, std::uint64_t times = 1);
  void merge(const Histogram& other);
  /// What was counted since `before`, an earlier copy of this one, was taken. Throws
  /// InvalidArgument where that has counted something that this one has not.
  Histogram since(const Histogram& before) const;

  std::uint64_t count() const noexcept { return count_; }
  /// 0 where nothing was counted.
  double mean() const noexcept;
  /// The number that a share `q` (0 to 1; 0.5 is the median) of all lies at or below, rounded up
  /// to the end of its bucket; 0 where nothing was counted. Throws InvalidArgument for another q.
  std::uint64_t quantile(double q) const;
  /// Those that are not empty, from low to high.
  std::vector<Bucket> buckets() const;

  /// The buckets' numbering, for those who count themselves: 0 to bucket_count() - 1.
  static std::size_t bucket_of(std::uint64_t number) noexcept;
  static constexpr std::size_t bucket_count() noexcept { return 60 * 32; }
  void add_to_bucket(std::size_t bucket, std::uint64_t times);

 private:
  std::vector<std::uint64_t> counts_{};  // empty, or one for each bucket
  std::uint64_t count_ = 0;
};

}  // namespace vcap
