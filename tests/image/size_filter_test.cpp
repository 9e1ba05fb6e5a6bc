// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/size_filter.hpp"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using ::testing::HasSubstr;

DetectionNode node(double width, double height) {
  return {.name = "thing", .coords = rect_to_coords(BoundingBox{10, 20, 10 + width, 20 + height})};
}

TEST(SizeFilter, IncludesItsBounds) {
  const struct {
    SizeFilter filter;
    double width, height;
    bool accepted;
  } cases[] = {
      {{.min_width = 20}, 20, 5, true},
      {{.min_width = 20}, 19.9, 500, false},
      {{.min_height = 20}, 5, 20, true},
      {{.min_height = 20}, 500, 19.9, false},
      {{.min_area = 100}, 10, 10, true},
      {{.min_area = 100}, 10, 9.9, false},
      {{.max_width = 20}, 20, 500, true},
      {{.max_width = 20}, 20.1, 5, false},
      {{.max_height = 20}, 500, 20, true},
      {{.max_height = 20}, 5, 20.1, false},
      {{.max_area = 100}, 10, 10, true},
      {{.max_area = 100}, 10, 10.1, false},
      {{.min_width = 5, .max_width = 5}, 5, 1, true},
      {{.min_width = 5, .min_height = 5}, 9, 4, false},
      {{.min_area = 0}, 0, 0, true},
  };
  for (const auto& [filter, width, height, accepted] : cases)
    EXPECT_EQ(filter.accepts(node(width, height)), accepted) << width << "x" << height;
}

TEST(SizeFilter, AcceptsEverythingWithoutBounds) {
  const DetectionNodes nodes = DetectionNodes::all({node(0, 0), node(1e9, 1e9)});
  EXPECT_EQ(SizeFilter{}.apply(nodes), nodes);
}

TEST(SizeFilter, KeepsNodesInOrderWithTheirChildren) {
  DetectionNode parent = node(30, 30);
  parent.children = {node(1, 1)};
  EXPECT_EQ((SizeFilter{.min_width = 10}.apply(
                DetectionNodes::all({parent, node(5, 5), node(40, 2), node(9, 9)}))),
            DetectionNodes::all({parent, node(40, 2)}));
}

TEST(SizeFilter, GivesAnEmptyListWhenNothingStays) {
  EXPECT_EQ((SizeFilter{.min_width = 10}.apply(DetectionNodes::all({node(5, 5)}))),
            DetectionNodes::all());
}

TEST(SizeFilter, GivesNoneForASingleNodeThatDoesNotFit) {
  const SizeFilter filter{.min_width = 10};
  EXPECT_EQ(filter.apply(DetectionNodes::single(node(5, 5))), DetectionNodes::none());
  EXPECT_EQ(filter.apply(DetectionNodes::single(node(15, 5))), DetectionNodes::single(node(15, 5)));
  EXPECT_EQ(filter.apply(DetectionNodes::none()), DetectionNodes::none());
}

TEST(SizeFilter, NamesAnInvalidBound) {
  const struct {
    SizeFilter filter;
    const char* message;
  } cases[] = {
      {{.min_width = -1}, "min_width -1.0 is not 0 or more"},
      {{.max_area = -2.5}, "max_area -2.5 is not 0 or more"},
      {{.min_height = std::numeric_limits<double>::quiet_NaN()}, "min_height NaN is not 0 or more"},
      {{.min_height = 3, .max_height = 2}, "min_height 3.0 is above max_height 2.0"},
  };
  for (const auto& [filter, message] : cases) {
    try {
      (void)filter.apply(DetectionNodes::none());
      ADD_FAILURE() << message;
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
    EXPECT_THROW((void)filter.accepts(node(1, 1)), InvalidArgument);
  }
}

TEST(SizeFilter, RefusesANodeWithoutCoords) {
  EXPECT_THROW(SizeFilter{}.accepts({.name = "nowhere"}), InvalidArgument);
}

}  // namespace
}  // namespace vcap
