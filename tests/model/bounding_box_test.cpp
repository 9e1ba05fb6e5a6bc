// SPDX-License-Identifier: Apache-2.0
#include "vcap/model/bounding_box.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <random>

#include "support/throws_error.hpp"

namespace vcap {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(BoundingBox, GoesAroundAllPoints) {
  const BoundingBox box = BoundingBox::around({{3, 9}, {-1, 4}, {5, 2.5}});
  EXPECT_EQ(box, (BoundingBox{-1, 2.5, 5, 9}));
}

TEST(BoundingBox, GoesAroundASinglePoint) {
  EXPECT_EQ(BoundingBox::around({{3, 9}}), (BoundingBox{3, 9, 3, 9}));
}

TEST(BoundingBox, NeedsAtLeastOnePoint) {
  EXPECT_THAT([] { BoundingBox::around({}); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("0 points")));
}

TEST(BoundingBox, GivesSizeAndPlaceInEveryForm) {
  const BoundingBox box{10, 20, 40, 100};
  EXPECT_EQ(box.width(), 30);
  EXPECT_EQ(box.height(), 80);
  EXPECT_EQ(box.area(), 2400);
  EXPECT_EQ(box.size(), cv::Size2d(30, 80));
  EXPECT_EQ(box.centre(), cv::Point2d(25, 60));
  EXPECT_EQ(box.rect(), cv::Vec4d(10, 20, 40, 100));
  EXPECT_EQ(box.xywh(), cv::Vec4d(10, 20, 30, 80));
}

TEST(RectToCoords, GoesClockwiseFromTheLeftTop) {
  const Coords expected{{1, 2}, {4, 2}, {4, 6}, {1, 6}};
  EXPECT_EQ(rect_to_coords(cv::Rect(1, 2, 3, 4)), expected);
  EXPECT_EQ(rect_to_coords(BoundingBox{1, 2, 4, 6}), expected);
}

TEST(RectToCoords, IsReversedByTheBoxAround) {
  const BoundingBox box{1.25, 2, 40.5, 6};
  EXPECT_EQ(BoundingBox::around(rect_to_coords(box)), box);
}

TEST(BoundingBoxJson, HasCornerAndSize) {
  EXPECT_EQ(json(BoundingBox{1, 2, 4, 6}), json::parse(R"({"x":1,"y":2,"w":3,"h":4})"));
}

TEST(BoundingBoxJson, KeepsPixelsAndTheirFractionsExactly) {
  std::mt19937_64 engine(1);
  std::uniform_int_distribution<int> fraction(-(1 << 24), 1 << 24);
  const auto coordinate = [&] { return fraction(engine) / 256.0; };
  for (int i = 0; i < 1000; ++i) {
    const BoundingBox box{coordinate(), coordinate(), coordinate(), coordinate()};
    EXPECT_EQ(json::parse(json(box).dump()).get<BoundingBox>(), box);
  }
}

TEST(BoundingBoxJson, NamesTheWrongField) {
  EXPECT_THAT([] { json::parse(R"({"x":1,"y":2,"w":"wide","h":4})").get<BoundingBox>(); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_json,
                                           "/w: a number is needed, but it is \"wide\""));
  EXPECT_THAT([] { json::parse(R"({"x":1,"y":2,"w":3})").get<BoundingBox>(); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_json, "the field \"h\" is missing"));
  EXPECT_THAT([] { json::parse("[1,2,3,4]").get<BoundingBox>(); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_json,
                                           "an object is needed, but it is an array of 4"));
}

}  // namespace
}  // namespace vcap
