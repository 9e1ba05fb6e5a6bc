// SPDX-License-Identifier: Apache-2.0
#include "vcap/base/histogram.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

TEST(Histogram, IsEmptyAtFirst) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.quantile(0.5), 0u);
  EXPECT_EQ(histogram.mean(), 0);
  EXPECT_THAT(histogram.buckets(), ElementsAre());
}

TEST(Histogram, IsExactBelowSixtyFour) {
  Histogram histogram;
  for (std::uint64_t n = 0; n < 64; ++n) histogram.add(n, n);
  for (const Histogram::Bucket& bucket : histogram.buckets()) {
    EXPECT_EQ(bucket.low, bucket.high);
    EXPECT_EQ(bucket.count, bucket.low);
  }
  EXPECT_EQ(histogram.buckets().size(), 63u);
}

TEST(Histogram, HasBucketsWithoutGaps) {
  Histogram histogram;
  for (std::size_t i = 0; i < Histogram::bucket_count(); ++i) histogram.add_to_bucket(i, 1);
  const auto buckets = histogram.buckets();
  ASSERT_EQ(buckets.size(), Histogram::bucket_count());
  EXPECT_EQ(buckets.front().low, 0u);
  EXPECT_EQ(buckets.back().high, kMost);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    ASSERT_EQ(buckets[i].low, i == 0 ? 0 : buckets[i - 1].high + 1) << i;
    ASSERT_EQ(Histogram::bucket_of(buckets[i].low), i);
    ASSERT_EQ(Histogram::bucket_of(buckets[i].high), i);
    ASSERT_LE(buckets[i].high - buckets[i].low, buckets[i].low / 32) << i;
  }
}

TEST(Histogram, GivesQuantilesWithinTheBucketWidth) {
  std::mt19937_64 random(3);
  Histogram histogram;
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < 10000; ++i) numbers.push_back(random() >> random() % 64);
  for (const std::uint64_t number : numbers) histogram.add(number);
  std::sort(numbers.begin(), numbers.end());
  for (const double q : {0.0, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto place =
        static_cast<std::size_t>(std::max(1.0, std::ceil(q * static_cast<double>(numbers.size()))));
    const std::uint64_t exact = numbers[place - 1];
    EXPECT_GE(histogram.quantile(q), exact) << q;
    EXPECT_LE(histogram.quantile(q) - exact, exact / 32 + 1) << q;
  }
}

TEST(Histogram, MergesWithAnother) {
  Histogram one, other;
  one.add(3, 2);
  other.add(3);
  other.add(60);
  one.merge(other);
  EXPECT_THAT(one.buckets(), ElementsAre(Histogram::Bucket{3, 3, 3}, Histogram::Bucket{60, 60, 1}));
  EXPECT_EQ(one.count(), 4u);
  EXPECT_DOUBLE_EQ(one.mean(), 69.0 / 4);
}

TEST(Histogram, GivesTheCountsSinceAnEarlierCopy) {
  Histogram histogram;
  EXPECT_EQ(histogram.since({}).count(), 0u);
  histogram.add(3, 2);
  histogram.add(1000);
  const Histogram before = histogram;
  EXPECT_EQ(histogram.since({}).buckets(), histogram.buckets());
  EXPECT_EQ(histogram.since(before).count(), 0u);
  histogram.add(3);
  histogram.add(60, 4);
  EXPECT_THAT(histogram.since(before).buckets(),
              ElementsAre(Histogram::Bucket{3, 3, 1}, Histogram::Bucket{60, 60, 4}));
  EXPECT_EQ(histogram.since(before).quantile(0.5), 60u);
  EXPECT_THAT([&] { before.since(histogram); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           testing::HasSubstr("has a count of 3 for 3 to 3")));
}

TEST(Histogram, RefusesAQuantileOutsideZeroToOne) {
  const Histogram histogram;
  EXPECT_THROW(histogram.quantile(1.01), InvalidArgument);
  EXPECT_THROW(histogram.quantile(-0.1), InvalidArgument);
  EXPECT_THROW(histogram.quantile(std::nan("")), InvalidArgument);
}

}  // namespace
}  // namespace vcap
