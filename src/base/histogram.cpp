// SPDX-License-Identifier: Apache-2.0
#include "vcap/base/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

// Numbers of at most 6 bits have a bucket each. Each further bit doubles the width of a bucket, so
// that the 32 buckets of a power of two represent the five bits after the leading one.
constexpr std::size_t kSteps = 32;

std::uint64_t low_end(std::size_t bucket) {
  if (bucket < 2 * kSteps) return bucket;
  const std::size_t shift = bucket / kSteps - 1;
  return (kSteps + bucket % kSteps) << shift;
}

std::uint64_t high_end(std::size_t bucket) {
  return bucket < 2 * kSteps ? bucket
                             : low_end(bucket) + ((std::uint64_t{1} << (bucket / kSteps - 1)) - 1);
}

}  // namespace

std::size_t Histogram::bucket_of(std::uint64_t number) noexcept {
  if (number < 2 * kSteps) return number;
  const auto shift = static_cast<std::size_t>(std::bit_width(number)) - 6;
  return (shift + 1) * kSteps + ((number >> shift) - kSteps);
}

void Histogram::add(std::uint64_t number, std::uint64_t times) {
  add_to_bucket(bucket_of(number), times);
}

void Histogram::add_to_bucket(std::size_t bucket, std::uint64_t times) {
  if (times == 0) return;
  if (counts_.empty()) counts_.resize(bucket_count());
  counts_.at(bucket) += times;
  count_ += times;
}

void Histogram::merge(const Histogram& other) {
  for (std::size_t i = 0; i < other.counts_.size(); ++i) add_to_bucket(i, other.counts_[i]);
}

Histogram Histogram::since(const Histogram& before) const {
  Histogram difference;
  for (std::size_t i = 0; i < bucket_count(); ++i) {
    const std::uint64_t now = counts_.empty() ? 0 : counts_[i];
    const std::uint64_t then = before.counts_.empty() ? 0 : before.counts_[i];
    if (then > now)
      throw InvalidArgument(ErrorCode::invalid_argument,
                            "Histogram::since: `before` has a count of " + std::to_string(then) +
                                " for " + std::to_string(low_end(i)) + " to " +
                                std::to_string(high_end(i)) + ", this histogram only " +
                                std::to_string(now) + "; give an earlier copy of this histogram");
    difference.add_to_bucket(i, now - then);
  }
  return difference;
}

double Histogram::mean() const noexcept {
  if (count_ == 0) return 0;
  double sum = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i)
    sum += static_cast<double>(counts_[i]) *
           (static_cast<double>(low_end(i)) + static_cast<double>(high_end(i))) / 2;
  return sum / static_cast<double>(count_);
}

std::uint64_t Histogram::quantile(double q) const {
  if (!(q >= 0 && q <= 1))
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "Histogram::quantile: " + std::to_string(q) + " is not within 0 to 1");
  const auto wanted = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(count_))));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i)
    if ((seen += counts_[i]) >= wanted) return high_end(i);
  return 0;
}

std::vector<Histogram::Bucket> Histogram::buckets() const {
  std::vector<Bucket> result;
  for (std::size_t i = 0; i < counts_.size(); ++i)
    if (counts_[i] > 0) result.push_back({low_end(i), high_end(i), counts_[i]});
  return result;
}

}  // namespace vcap
