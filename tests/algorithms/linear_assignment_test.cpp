// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/linear_assignment.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <opencv2/core.hpp>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

using Pairs = std::vector<std::pair<int, int>>;

constexpr double kForbidden = std::numeric_limits<double>::infinity();

/// The quality of an assignment: more pairs first, then lower cost.
struct Outcome {
  int pairs = 0;
  double cost = 0;
  bool operator==(const Outcome&) const = default;
};

bool better(const Outcome& a, const Outcome& b) {
  return a.pairs != b.pairs ? a.pairs > b.pairs : a.cost < b.cost;
}

/// Tries every set of allowed pairs.
Outcome brute_force(const cv::Mat1d& cost, int row = 0, unsigned taken = 0) {
  if (row == cost.rows) return {};
  Outcome best = brute_force(cost, row + 1, taken);
  for (int column = 0; column < cost.cols; ++column) {
    if ((taken >> column & 1u) != 0 || cost(row, column) == kForbidden) continue;
    Outcome outcome = brute_force(cost, row + 1, taken | 1u << column);
    outcome.pairs += 1;
    outcome.cost += cost(row, column);
    if (better(outcome, best)) best = outcome;
  }
  return best;
}

/// The number of the pairs and their cost. Checks that they are sorted by row, unique and allowed.
Outcome outcome_of(const cv::Mat1d& cost, const Pairs& pairs) {
  Outcome outcome;
  std::set<int> columns;
  int last_row = -1;
  for (const auto& [row, column] : pairs) {
    EXPECT_GT(row, last_row);
    EXPECT_LT(row, cost.rows);
    EXPECT_GE(column, 0);
    EXPECT_LT(column, cost.cols);
    EXPECT_TRUE(columns.insert(column).second) << "column " << column << " twice";
    EXPECT_NE(cost(row, column), kForbidden);
    last_row = row;
    outcome.pairs += 1;
    outcome.cost += cost(row, column);
  }
  return outcome;
}

/// Calls `test` with `repeats` matrices of each shape up to 7×7, every cost drawn by `draw`.
template <class Draw, class Test>
void for_all_shapes(int repeats, Draw draw, Test test) {
  std::mt19937 engine(2016);
  for (int rows = 1; rows <= 7; ++rows)
    for (int columns = 1; columns <= 7; ++columns)
      for (int repeat = 0; repeat < repeats; ++repeat) {
        cv::Mat1d cost(rows, columns);
        for (double& value : cost) value = draw(engine);
        SCOPED_TRACE(testing::Message() << cost);
        test(cost);
      }
}

template <class Draw>
void expect_as_brute_force(Draw draw) {
  for_all_shapes(20, draw, [](const cv::Mat1d& cost) {
    EXPECT_EQ(outcome_of(cost, linear_assignment(cost)), brute_force(cost));
  });
}

/// Costs are multiples of 1/1024: their sums are exact, so optima compare without a tolerance.
double draw_exact(std::mt19937& engine, int low, int high) {
  return std::uniform_int_distribution<int>(low * 1024, high * 1024)(engine) / 1024.0;
}

TEST(LinearAssignment, FindsTheOptimumOfAllSmallShapes) {
  expect_as_brute_force([](std::mt19937& engine) { return draw_exact(engine, 0, 100); });
}

TEST(LinearAssignment, FindsTheOptimumAmongTies) {
  expect_as_brute_force(
      [](std::mt19937& engine) { return std::uniform_int_distribution<int>(0, 2)(engine); });
}

TEST(LinearAssignment, FindsTheOptimumOfNegativeAndMixedCosts) {
  expect_as_brute_force([](std::mt19937& engine) { return draw_exact(engine, -100, -1); });
  expect_as_brute_force([](std::mt19937& engine) { return draw_exact(engine, -50, 50); });
}

TEST(LinearAssignment, FindsTheMostPairsAndThenTheLeastCostIfPairsAreForbidden) {
  for (const double allowed : {0.9, 0.5, 0.2, 0.05})
    expect_as_brute_force([allowed](std::mt19937& engine) {
      const bool allow = std::bernoulli_distribution(allowed)(engine);
      return allow ? draw_exact(engine, -50, 50) : kForbidden;
    });
}

TEST(LinearAssignment, FindsTheOptimumAmongTiesIfPairsAreForbidden) {
  expect_as_brute_force([](std::mt19937& engine) {
    const int value = std::uniform_int_distribution<int>(0, 3)(engine);
    return value == 3 ? kForbidden : value;
  });
}

TEST(LinearAssignment, FindsTheOptimumOfInexactCostsWithinRoundingErrors) {
  const auto draw = [](std::mt19937& engine) {
    return std::uniform_real_distribution<double>(-1, 1)(engine) / 3;
  };
  for_all_shapes(10, draw, [](const cv::Mat1d& cost) {
    const Outcome found = outcome_of(cost, linear_assignment(cost)), best = brute_force(cost);
    EXPECT_EQ(found.pairs, best.pairs);
    EXPECT_NEAR(found.cost, best.cost, 1e-14);
  });
}

struct Golden {
  int rows, columns;
  std::uint32_t seed, forbidden;
  int pairs;
  double cost;
};

/// The same matrix as in linear_assignment_golden.py, which describes it.
cv::Mat1d golden_costs(const Golden& golden) {
  std::uint32_t x = golden.seed;
  const auto draw = [&x] { return x = 1664525u * x + 1013904223u; };
  cv::Mat1d cost(golden.rows, golden.columns);
  for (double& value : cost) {
    value = (draw() >> 8) / 1024.0 - 8192;
    if (golden.forbidden > 0 && (draw() >> 24) < golden.forbidden) value = kForbidden;
  }
  return cost;
}

TEST(LinearAssignment, AgreesWithScipyOnLargeMatrices) {
  const Golden cases[] = {
      // Printed by linear_assignment_golden.py with scipy 1.17.1.
      {300, 300, 1, 0, 300, -2431075.650390625},   {200, 300, 2, 0, 200, -1625689.4248046875},
      {300, 200, 3, 0, 200, -1625431.7294921875},  {300, 300, 4, 128, 300, -2404559.4970703125},
      {300, 300, 5, 254, 247, -370823.0146484375}, {120, 400, 6, 255, 99, -185216.28515625},
  };
  for (const Golden& golden : cases) {
    const cv::Mat1d cost = golden_costs(golden);
    SCOPED_TRACE(testing::Message() << "seed " << golden.seed);
    EXPECT_EQ(outcome_of(cost, linear_assignment(cost)), (Outcome{golden.pairs, golden.cost}));
  }
}

TEST(LinearAssignment, SolvesTheMatrixThatMakesEveryPathLong) {
  // cost = row × column: each row prefers the columns that earlier rows already have. The least
  // total cost pairs the rows with the columns in reverse order.
  constexpr int n = 250;
  cv::Mat1d cost(n, n);
  for (int row = 0; row < n; ++row)
    for (int column = 0; column < n; ++column) cost(row, column) = double(row) * column;
  const Pairs pairs = linear_assignment(cost);
  ASSERT_EQ(pairs.size(), std::size_t{n});
  for (int row = 0; row < n; ++row)
    EXPECT_EQ(pairs[static_cast<std::size_t>(row)], std::pair(row, n - 1 - row));
}

TEST(LinearAssignment, KeepsThePrecisionOfCostsBesideForbiddenPairs) {
  // Row 2 has no allowed pair, so the search pays for a forbidden one. It must still distinguish
  // costs that differ by the last bit of 1.
  const double more = std::nextafter(1.0, 2.0);
  const cv::Mat1d cost = (cv::Mat1d(3, 3) << more, 1, kForbidden, 1, more, kForbidden, kForbidden,
                          kForbidden, kForbidden);
  EXPECT_THAT(linear_assignment(cost), ElementsAre(Pair(0, 1), Pair(1, 0)));
}

TEST(LinearAssignment, LeavesOutTheCostlierOfTwoRowsForOneColumn) {
  const cv::Mat1d cost = (cv::Mat1d(2, 2) << 5, kForbidden, 3, kForbidden);
  EXPECT_THAT(linear_assignment(cost), ElementsAre(Pair(1, 0)));
  EXPECT_THAT(linear_assignment(cv::Mat1d(cost.t())), ElementsAre(Pair(0, 1)));
}

TEST(LinearAssignment, PrefersMorePairsToLessCost) {
  const cv::Mat1d cost = (cv::Mat1d(2, 2) << -1000, 50, 50, kForbidden);
  EXPECT_THAT(linear_assignment(cost), ElementsAre(Pair(0, 1), Pair(1, 0)));
}

TEST(LinearAssignment, GivesNoPairsIfAllAreForbidden) {
  EXPECT_THAT(linear_assignment(cv::Mat1d(4, 3, kForbidden)), IsEmpty());
}

TEST(LinearAssignment, GivesNoPairsOfAnEmptyMatrix) {
  EXPECT_THAT(linear_assignment(cv::Mat1d()), IsEmpty());
  EXPECT_THAT(linear_assignment(cv::Mat1d(0, 5)), IsEmpty());
  EXPECT_THAT(linear_assignment(cv::Mat1d(5, 0)), IsEmpty());
}

TEST(LinearAssignment, AcceptsAPartOfALargerMatrixAndDoesNotChangeIt) {
  const cv::Mat1d whole = golden_costs({20, 20, 9, 0, 0, 0});
  const cv::Mat1d before = whole.clone();
  for (const cv::Rect& part : {cv::Rect(3, 4, 6, 9), cv::Rect(3, 4, 9, 6)}) {
    const cv::Mat1d view = whole(part);
    EXPECT_EQ(linear_assignment(view), linear_assignment(view.clone()));
  }
  EXPECT_EQ(cv::norm(whole, before, cv::NORM_INF), 0);
}

TEST(LinearAssignment, SumsUpTheLargestCostsWithoutOverflow) {
  const cv::Mat1d cost = (cv::Mat1d(3, 3) << 1e300, 0, -1e300, -1e300, 1e300, 0, 0, -1e300, 1e300);
  EXPECT_THAT(linear_assignment(cost), ElementsAre(Pair(0, 2), Pair(1, 0), Pair(2, 1)));
}

TEST(LinearAssignment, NamesThePlaceOfACostThatCannotBeSummed) {
  const struct {
    double value;
    const char* text;
  } cases[] = {{std::numeric_limits<double>::quiet_NaN(), "NaN"},
               {-kForbidden, "-infinity"},
               {1e301, "1e+301"},
               {-std::numeric_limits<double>::max(), "-1.79"}};
  for (const auto& [value, text] : cases) {
    cv::Mat1d cost(3, 4, 1.0);
    cost(1, 2) = value;
    try {
      linear_assignment(cost);
      ADD_FAILURE() << text << " was taken";
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_THAT(error.what(), HasSubstr(std::string("the cost ") + text));
      EXPECT_THAT(error.what(), HasSubstr("at row 1, column 2"));
    }
  }
}

}  // namespace
}  // namespace vcap
