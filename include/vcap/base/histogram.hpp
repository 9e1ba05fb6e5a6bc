// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// The distribution of whole numbers (nanoseconds, sizes): one count for each of a fixed set of
/// buckets. Buckets get wider as numbers grow: exact below 64, within 1/32 above. Every 64-bit
/// number has a bucket. (The layout is that of Gil Tene's HdrHistogram with five bits of
/// precision.)
/// Thread safety: value.
class VCAP_EXPORT Histogram {
 public:
  /// `count` numbers were from `low` to `high`, both included.
  struct Bucket {
    std::uint64_t low;
    std::uint64_t high;
    std::uint64_t count;
    bool operator==(const Bucket&) const = default;
  };

  void add(std::uint64_t number, std::uint64_t times = 1);
  void merge(const Histogram& other);
  /// The counts added since `before`, an earlier copy of this histogram. Throws InvalidArgument if
  /// `before` has a larger count in any bucket.
  Histogram since(const Histogram& before) const;

  std::uint64_t count() const noexcept { return count_; }
  /// 0 if nothing was counted.
  double mean() const noexcept;
  /// The quantile `q` (0 to 1; 0.5 is the median), rounded up to the end of its bucket; 0 if
  /// nothing was counted. Throws InvalidArgument if q is outside 0 to 1.
  std::uint64_t quantile(double q) const;
  /// The buckets that are not empty, from low to high.
  std::vector<Bucket> buckets() const;

  /// The bucket's index, 0 to bucket_count() - 1, for callers that keep their own counts.
  static std::size_t bucket_of(std::uint64_t number) noexcept;
  static constexpr std::size_t bucket_count() noexcept { return std::size_t{60} * 32; }
  void add_to_bucket(std::size_t bucket, std::uint64_t times);

 private:
  std::vector<std::uint64_t> counts_{};  // empty, or one for each bucket
  std::uint64_t count_ = 0;
};

}  // namespace vcap
