// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/crop.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <opencv2/core.hpp>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const cv::Size kFrame(100, 80);

cv::Rect rect_of(const BoundingBox& box) { return Crop::from_box(box).rect(kFrame); }

TEST(Crop, IsTheBoxAroundANode) {
  const DetectionNode node{.name = "leaf", .coords = {{20, 10}, {30, 15}, {25, 40}}};
  EXPECT_EQ(Crop::from_node(node).rect(kFrame), cv::Rect(20, 10, 10, 30));
}

TEST(Crop, IsAViewOfTheFrame) {
  cv::Mat frame(kFrame, CV_8UC3, cv::Scalar(1, 2, 3));
  const cv::Mat crop = Crop::from_box({10, 20, 40, 50}).apply(frame);
  EXPECT_EQ(crop.size(), cv::Size(30, 30));
  EXPECT_EQ(crop.data, frame.ptr(20, 10));
}

TEST(Crop, IsCutToTheFrame) {
  EXPECT_EQ(rect_of({-10, -10, 10, 10}), cv::Rect(0, 0, 10, 10));
  EXPECT_EQ(rect_of({90, 70, 110, 90}), cv::Rect(90, 70, 10, 10));
  EXPECT_EQ(rect_of({-1e300, -kInfinity, kInfinity, 1e300}), cv::Rect({}, kFrame));
}

TEST(Crop, HoldsEveryPixelThatTheBoxTouches) {
  EXPECT_EQ(rect_of({10.2, 10.9, 20.1, 20.5}), cv::Rect(10, 10, 11, 11));
  EXPECT_EQ(rect_of({10.4, 10.4, 10.6, 10.6}), cv::Rect(10, 10, 1, 1));
}

TEST(Crop, IsNotLargerDueToARoundingError) {
  EXPECT_EQ(rect_of({10 - 1e-9, 10 - 1e-9, 20 + 1e-9, 20 + 1e-9}), cv::Rect(10, 10, 10, 10));
}

TEST(Crop, IsPaddedByPercentOfItsOwnSides) {
  const Crop crop = Crop::from_box({40, 40, 60, 50});
  EXPECT_EQ(crop.pad_percent({.top = 10, .bottom = 20, .left = 30, .right = 40}).box(),
            (BoundingBox{34, 39, 68, 52}));
  EXPECT_EQ(crop.pad_percent({.right = -50}).box(), (BoundingBox{40, 40, 50, 50}));
}

TEST(Crop, IsPaddedByPixels) {
  const Crop crop = Crop::from_box({40, 40, 60, 50});
  EXPECT_EQ(crop.pad_px({.top = 1, .bottom = 2, .left = 3, .right = 4}).box(),
            (BoundingBox{37, 39, 64, 52}));
  EXPECT_EQ(crop.pad_px({.left = -5}).box(), (BoundingBox{45, 40, 60, 50}));
}

TEST(Crop, IsPaddedToASquareAroundTheSameCentre) {
  EXPECT_EQ(Crop::from_box({40, 40, 60, 50}).pad_to_square().box(), (BoundingBox{40, 35, 60, 55}));
  EXPECT_EQ(Crop::from_box({40, 10, 41, 50}).pad_to_square().box(),
            (BoundingBox{20.5, 10, 60.5, 50}));
  EXPECT_EQ(Crop::from_box({1, 2, 4, 5}).pad_to_square().box(), (BoundingBox{1, 2, 4, 5}));
}

TEST(Crop, PadsTheBoxOfAnEarlierPadding) {
  EXPECT_EQ(Crop::from_box({40, 40, 50, 50}).pad_px({.right = 10}).pad_percent({.right = 50}).box(),
            (BoundingBox{40, 40, 70, 50}));
}

TEST(Crop, LeavesTheOriginalUnchangedWhenPadded) {
  const Crop crop = Crop::from_box({40, 40, 60, 50});
  crop.pad_px({.top = 5});
  EXPECT_EQ(crop.box(), (BoundingBox{40, 40, 60, 50}));
}

TEST(Crop, IsPaddedBeforeItIsCutToTheFrame) {
  EXPECT_EQ(Crop::from_box({-20, 0, -5, 10}).pad_px({.right = 10}).rect(kFrame),
            cv::Rect(0, 0, 5, 10));
}

TEST(Crop, RefusesABoxThatSharesNoPixelWithTheFrame) {
  const BoundingBox boxes[] = {{-20, 0, 0, 10},        {100, 0, 120, 10},   {0, -20, 10, 0},
                               {0, 80, 10, 90},        {10, 10, 10, 20},    {10, 10, 20, 10},
                               {20, 10, 10, 20},       {10, 20, 20, 10},    {kNan, 0, 10, 10},
                               {0, kNan, 10, 10},      {0, 0, kNan, 10},    {0, 0, 10, kNan},
                               {-1e300, 0, -1e299, 9}, {1e299, 0, 1e300, 9}};
  for (const BoundingBox& box : boxes) {
    try {
      rect_of(box);
      ADD_FAILURE() << box.rect() << " was taken";
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(error.code(), ErrorCode::empty_crop) << box.rect();
    }
  }
}

TEST(Crop, NamesBoxAndFrameWhenTheyShareNoPixel) {
  try {
    Crop::from_box({120.5, 0, 130, 10}).apply(cv::Mat(kFrame, CV_8UC3));
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("x 120.5 to 130.0, y 0.0 to 10.0"),
                                    HasSubstr("the frame of 100x80")));
  }
}

TEST(Crop, RefusesAFrameWithoutPixels) {
  EXPECT_THROW(Crop::from_box({0, 0, 10, 10}).apply(cv::Mat()), InvalidArgument);
}

TEST(Crop, RefusesANodeWithoutCoords) {
  EXPECT_THROW(Crop::from_node({.name = "nowhere"}), InvalidArgument);
}

}  // namespace
}  // namespace vcap
