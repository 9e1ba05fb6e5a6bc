// SPDX-License-Identifier: Apache-2.0
#include "algorithms/sparse_matching.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "vcap/algorithms/linear_assignment.hpp"

namespace vcap {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using WeightedPairs = std::vector<WeightedPair>;

TEST(SparseMatcher, PrefersTheGreatestSumToTheGreatestWeight) {
  const WeightedPairs pairs{{0, 0, 5}, {0, 1, 4}, {1, 0, 4}, {1, 1, 1}};
  EXPECT_THAT(SparseMatcher().match(2, 2, pairs), ElementsAre(1, 2));
}

TEST(SparseMatcher, LeavesARowUnmatchedIfTheSumIsGreater) {
  // Row 0 leaves its column to row 1, which has no other pair.
  const WeightedPairs pairs{{0, 0, 1}, {1, 0, 3}};
  EXPECT_THAT(SparseMatcher().match(2, 1, pairs), ElementsAre(1));
  // Row 1 does not get the column if its weight is less.
  EXPECT_THAT(SparseMatcher().match(2, 1, WeightedPairs{{0, 0, 3}, {1, 0, 1}}), ElementsAre(0));
}

TEST(SparseMatcher, MatchesNothingWithoutPairs) {
  EXPECT_THAT(SparseMatcher().match(0, 0, {}), IsEmpty());
  EXPECT_THAT(SparseMatcher().match(3, 2, {}), IsEmpty());
}

/// A linear congruential generator (W. H. Press et al., "Numerical Recipes", 2nd edition, 7.1).
class WeightDraws {
 public:
  explicit WeightDraws(std::uint32_t seed) : x_(seed) {}
  std::uint32_t operator()(std::uint32_t below) {
    x_ = 1664525u * x_ + 1013904223u;
    return (x_ >> 8) % below;
  }

 private:
  std::uint32_t x_;
};

TEST(SparseMatcher, FindsTheSameSumAsLinearAssignment) {
  SparseMatcher matcher;
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    WeightDraws draw(seed);
    const std::size_t rows = 1 + draw(20), columns = 1 + draw(20);
    const std::uint32_t density = 1 + draw(100);
    WeightedPairs pairs;
    cv::Mat1d costs(static_cast<int>(rows), static_cast<int>(columns), 0.0);
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t column = 0; column < columns; ++column)
        if (draw(100) < density) {
          const double weight = 1 + draw(seed % 2 == 0 ? 5 : 10000);  // few weights: many ties
          pairs.push_back({row, column, weight});
          costs(static_cast<int>(row), static_cast<int>(column)) = -weight;
        }

    double sum = 0;
    std::set<std::size_t> used_rows, used_columns;
    for (const std::size_t i : matcher.match(rows, columns, pairs)) {
      sum += pairs[i].weight;
      EXPECT_TRUE(used_rows.insert(pairs[i].row).second) << "seed " << seed;
      EXPECT_TRUE(used_columns.insert(pairs[i].column).second) << "seed " << seed;
    }
    double expected = 0;
    for (const auto& [row, column] : linear_assignment(costs)) expected -= costs(row, column);
    EXPECT_EQ(sum, expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace vcap
