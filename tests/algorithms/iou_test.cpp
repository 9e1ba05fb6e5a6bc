// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/iou.hpp"

#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <opencv2/core.hpp>

namespace vcap {
namespace {

/// Boxes within 0…100. Coordinates are multiples of 1/8, so sums and products are exact.
std::vector<BoundingBox> random_boxes(int count) {
  std::mt19937 engine(7);
  std::uniform_int_distribution<int> position(0, 800);
  std::vector<BoundingBox> boxes;
  for (int i = 0; i < count; ++i) {
    const double x = position(engine) / 8.0, y = position(engine) / 8.0;
    boxes.push_back({x, y, x + position(engine) / 8.0, y + position(engine) / 8.0});
  }
  return boxes;
}

TEST(Iou, IsTheIntersectionOverTheUnion) {
  const struct {
    BoundingBox a, b;
    double expected;
  } cases[] = {
      {{0, 0, 10, 10}, {0, 0, 10, 10}, 1},
      {{0, 0, 10, 10}, {5, 0, 15, 10}, 50.0 / 150},
      {{0, 0, 10, 10}, {5, 5, 15, 15}, 25.0 / 175},
      {{0, 0, 10, 10}, {2, 2, 4, 7}, 10.0 / 100},
      {{-10, -10, 0, 0}, {-5, -5, 5, 5}, 25.0 / 175},
      {{0, 0, 10, 10}, {10, 0, 20, 10}, 0},
      {{0, 0, 10, 10}, {10, 10, 20, 20}, 0},
      {{0, 0, 10, 10}, {0, 30, 10, 40}, 0},
  };
  for (const auto& [a, b, expected] : cases) EXPECT_DOUBLE_EQ(iou(a, b), expected);
}

TEST(Iou, IsZeroWithABoxWithoutArea) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const BoundingBox whole{0, 0, 10, 10};
  const BoundingBox without_area[] = {{5, 5, 5, 5},    {2, 5, 8, 5},        {5, 2, 5, 8},
                                      {8, 8, 2, 2},    {8, 2, 2, 8},        {nan, 0, 10, 10},
                                      {0, 0, 10, nan}, {nan, nan, nan, nan}};
  for (const BoundingBox& box : without_area) {
    EXPECT_EQ(iou(box, whole), 0) << box.rect();
    EXPECT_EQ(iou(whole, box), 0) << box.rect();
    EXPECT_EQ(iou(box, box), 0) << box.rect();
  }
}

TEST(Iou, IsZeroIfBothAreasAreInfinite) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const BoundingBox all{-infinite, -infinite, infinite, infinite}, huge{0, 0, 1e200, 1e200};
  EXPECT_EQ(iou(all, all), 0);
  EXPECT_EQ(iou(huge, huge), 0);
  EXPECT_EQ(iou(all, {0, 0, 10, 10}), 0);
}

TEST(Iou, IsSymmetricAndWithinZeroAndOne) {
  const std::vector<BoundingBox> boxes = random_boxes(60);
  int overlapping = 0;
  for (const BoundingBox& a : boxes)
    for (const BoundingBox& b : boxes) {
      const double value = iou(a, b);
      EXPECT_EQ(value, iou(b, a));
      EXPECT_GE(value, 0);
      EXPECT_LE(value, 1);
      overlapping += value > 0;
    }
  EXPECT_GT(overlapping, 1000);
}

TEST(Iou, IsExactlyOneOnlyForTheSameBox) {
  const std::vector<BoundingBox> boxes = random_boxes(60);
  for (const BoundingBox& a : boxes)
    for (const BoundingBox& b : boxes) EXPECT_EQ(iou(a, b) == 1, a == b && a.area() > 0);
  const BoundingBox awkward{0.1, 0.2, 100.3, 77.7};
  EXPECT_EQ(iou(awkward, awkward), 1);
}

TEST(Iou, DoesNotChangeWhenBothBoxesAreMovedOrScaled) {
  const std::vector<BoundingBox> boxes = random_boxes(40);
  const auto changed = [](const BoundingBox& box) {
    return BoundingBox{box.x1 * 4 + 64, box.y1 * 4 - 32, box.x2 * 4 + 64, box.y2 * 4 - 32};
  };
  for (const BoundingBox& a : boxes)
    for (const BoundingBox& b : boxes) EXPECT_EQ(iou(changed(a), changed(b)), iou(a, b));
}

TEST(IouCostMatrix, HoldsOneMinusIouOfEachRowWithEachColumn) {
  const std::vector<BoundingBox> boxes = random_boxes(12);
  const std::span all(boxes);
  const cv::Mat1d cost = iou_cost_matrix(all.first(5), all.last(7));
  ASSERT_EQ(cost.size(), cv::Size(7, 5));
  for (int row = 0; row < 5; ++row)
    for (int column = 0; column < 7; ++column)
      EXPECT_EQ(cost(row, column), 1 - iou(all[static_cast<std::size_t>(row)],
                                           all[static_cast<std::size_t>(column) + 5]));
}

TEST(IouCostMatrix, KeepsTheLengthOfASideIfTheOtherIsEmpty) {
  const std::vector<BoundingBox> boxes = random_boxes(3);
  EXPECT_EQ(iou_cost_matrix(boxes, {}).size(), cv::Size(0, 3));
  EXPECT_EQ(iou_cost_matrix({}, boxes).size(), cv::Size(3, 0));
  EXPECT_TRUE(iou_cost_matrix({}, {}).empty());
}

}  // namespace
}  // namespace vcap
