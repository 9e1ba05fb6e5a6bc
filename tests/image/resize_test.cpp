// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/resize.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using ::testing::HasSubstr;
using Sides = Resize::Sides;

/// Every pixel holds its place: (x, y, 100).
cv::Mat map_of(int width, int height) {
  cv::Mat image(height, width, CV_8UC3);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      image.at<cv::Vec3b>(y, x) = {static_cast<uchar>(x), static_cast<uchar>(y), 100};
  return image;
}

cv::Vec3b pixel(const Resize& resize, int x, int y) { return resize.image().at<cv::Vec3b>(y, x); }

cv::Vec3b from(int x, int y) { return {static_cast<uchar>(x), static_cast<uchar>(y), 100}; }

template <class Call>
std::string message_of(ErrorCode code, Call call) {
  try {
    call();
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(Resize, FitsAWidthOrAHeightAndKeepsTheAspect) {
  EXPECT_EQ(Resize(map_of(200, 100)).fit_width(50).image().size(), cv::Size(50, 25));
  EXPECT_EQ(Resize(map_of(200, 100)).fit_width(220).image().size(), cv::Size(220, 110));
  EXPECT_EQ(Resize(map_of(200, 100)).fit_height(50).image().size(), cv::Size(100, 50));
  EXPECT_EQ(Resize(map_of(200, 99)).fit_width(100).image().size(), cv::Size(100, 50));
  EXPECT_EQ(Resize(map_of(200, 1)).fit_width(10).image().size(), cv::Size(10, 1));
}

TEST(Resize, FitsWithinOrCoversASize) {
  const struct {
    cv::Size frame, size, within, covering;
  } cases[] = {
      {{200, 100}, {50, 50}, {50, 25}, {100, 50}},   {{100, 200}, {50, 50}, {25, 50}, {50, 100}},
      {{200, 100}, {100, 50}, {100, 50}, {100, 50}}, {{20, 10}, {100, 100}, {100, 50}, {200, 100}},
      {{150, 100}, {7, 5}, {7, 5}, {8, 5}},  // 7×4.67, 7.5×5
  };
  for (const auto& [frame, size, within, covering] : cases) {
    const cv::Mat image = map_of(frame.width, frame.height);
    EXPECT_EQ(Resize(image).fit_both(size).image().size(), within) << frame << size;
    EXPECT_EQ(Resize(image).fit_one(size).image().size(), covering) << frame << size;
  }
}

TEST(Resize, FitsAnExactSizeWithAnyAspect) {
  EXPECT_EQ(Resize(map_of(200, 100)).fit_exact({30, 70}).image().size(), cv::Size(30, 70));
}

TEST(Resize, CropsAtTheGivenSides) {
  const cv::Mat image = map_of(20, 10);
  const struct {
    Sides sides;
    cv::Vec3b first;
  } cases[] = {
      {Sides::right_bottom, from(0, 0)}, {Sides::left_top, from(15, 7)}, {Sides::all, from(7, 3)}};
  for (const auto& [sides, first] : cases) {
    Resize resize(image);
    resize.crop({5, 3}, sides);
    ASSERT_EQ(resize.image().size(), cv::Size(5, 3));
    EXPECT_EQ(pixel(resize, 0, 0), first);
  }
}

TEST(Resize, CropsFromAPointAsFarAsTheImageReaches) {
  Resize inside(map_of(20, 10));
  inside.crop({5, 3}, cv::Point(4, 6));
  EXPECT_EQ(inside.image().size(), cv::Size(5, 3));
  EXPECT_EQ(pixel(inside, 0, 0), from(4, 6));

  Resize beyond(map_of(20, 10));
  beyond.crop({8, 100}, cv::Point(-3, 6));
  EXPECT_EQ(beyond.image().size(), cv::Size(5, 4));
  EXPECT_EQ(pixel(beyond, 0, 0), from(0, 6));
}

TEST(Resize, PadsAtTheGivenSides) {
  const cv::Mat image = map_of(5, 3);
  const struct {
    Sides sides;
    cv::Point at;
  } cases[] = {{Sides::right_bottom, {0, 0}}, {Sides::left_top, {15, 7}}, {Sides::all, {7, 3}}};
  for (const auto& [sides, at] : cases) {
    Resize resize(image);
    resize.pad({20, 10}, sides, {7, 8, 9});
    cv::Mat expected(10, 20, CV_8UC3, cv::Scalar(7, 8, 9));
    image.copyTo(expected(cv::Rect(at, image.size())));
    ASSERT_EQ(resize.image().size(), expected.size());
    EXPECT_EQ(cv::norm(resize.image(), expected, cv::NORM_INF), 0);
  }
}

TEST(Resize, PutsTheImageAtAPointOfTheCanvas) {
  Resize resize(map_of(5, 3));
  resize.pad({20, 10}, cv::Point(2, 6), {7, 8, 9});
  EXPECT_EQ(resize.image().size(), cv::Size(20, 10));
  EXPECT_EQ(pixel(resize, 2, 6), from(0, 0));
  EXPECT_EQ(pixel(resize, 6, 8), from(4, 2));
  EXPECT_EQ(pixel(resize, 1, 6), cv::Vec3b(7, 8, 9));
  EXPECT_EQ(pixel(resize, 7, 8), cv::Vec3b(7, 8, 9));
}

TEST(Resize, PadsACropWithTheColourAndNotWithCroppedPixels) {
  Resize resize(map_of(20, 10));
  resize.crop({4, 4}, cv::Point(8, 3)).pad({8, 8}, Sides::all, {7, 8, 9});
  EXPECT_EQ(pixel(resize, 1, 4), cv::Vec3b(7, 8, 9));
  EXPECT_EQ(pixel(resize, 2, 2), from(8, 3));
}

TEST(Resize, GivesExactlyTheSizeOfCropAndPad) {
  for (const cv::Size frame : {cv::Size(3, 90), cv::Size(90, 3), cv::Size(40, 30), cv::Size(7, 7)})
    for (const Sides sides : {Sides::left_top, Sides::right_bottom, Sides::all})
      EXPECT_EQ(Resize(map_of(frame.width, frame.height))
                    .crop({40, 30}, sides)
                    .pad({40, 30}, sides)
                    .image()
                    .size(),
                cv::Size(40, 30));
}

TEST(Resize, SharesThePixelsOfCropsAndWhenNothingChanges) {
  const cv::Mat image = map_of(20, 10);
  Resize resize(image);
  resize.fit_width(20).fit_exact({20, 10}).crop({30, 10}, Sides::all).pad({5, 5}, Sides::all);
  EXPECT_EQ(resize.image().data, image.data);
  resize.crop({5, 3}, cv::Point(4, 6));
  EXPECT_EQ(resize.image().data, image.ptr(6, 4));
}

TEST(Resize, NeverWritesIntoTheFrame) {
  const cv::Mat image = map_of(20, 10), before = image.clone();
  Resize resize(image);
  resize.crop({9, 9}, Sides::all).pad({30, 30}, Sides::all, {1, 1, 1}).fit_exact({20, 10});
  EXPECT_EQ(cv::norm(image, before, cv::NORM_INF), 0);
}

TEST(Resize, UsesTheGivenInterpolation) {
  const cv::Mat image = map_of(20, 10);
  const struct {
    Resize::Interpolation interpolation;
    int flag;
  } cases[] = {{Resize::Interpolation::nearest, cv::INTER_NEAREST},
               {Resize::Interpolation::linear, cv::INTER_LINEAR},
               {Resize::Interpolation::cubic, cv::INTER_CUBIC},
               {Resize::Interpolation::area, cv::INTER_AREA}};
  for (const auto& [interpolation, flag] : cases)
    for (const cv::Size size : {cv::Size(7, 4), cv::Size(33, 21)}) {
      cv::Mat expected;
      cv::resize(image, expected, size, 0, 0, flag);
      const cv::Mat found = Resize(image, interpolation).fit_exact(size).image();
      EXPECT_EQ(cv::norm(found, expected, cv::NORM_INF), 0) << flag << size;
    }
}

TEST(Resize, AveragesWhenItShrinksAndInterpolatesWhenItGrows) {
  const cv::Mat image = map_of(20, 10);
  for (const auto& [size, flag] : {std::pair(cv::Size(7, 4), int(cv::INTER_AREA)),
                                   std::pair(cv::Size(20, 4), int(cv::INTER_AREA)),
                                   std::pair(cv::Size(33, 21), int(cv::INTER_LINEAR)),
                                   std::pair(cv::Size(7, 21), int(cv::INTER_LINEAR))}) {
    cv::Mat expected;
    cv::resize(image, expected, size, 0, 0, flag);
    EXPECT_EQ(cv::norm(Resize(image).fit_exact(size).image(), expected, cv::NORM_INF), 0) << size;
  }
}

TEST(Resize, RefusesSizesThatAreNotPositiveAndStaysUnchanged) {
  const cv::Mat image = map_of(20, 10);
  Resize resize(image);
  EXPECT_THROW(resize.fit_width(0), InvalidArgument);
  EXPECT_THROW(resize.fit_height(-1), InvalidArgument);
  EXPECT_THROW(resize.fit_both({0, 5}), InvalidArgument);
  EXPECT_THROW(resize.fit_one({5, 0}), InvalidArgument);
  EXPECT_THROW(resize.fit_exact({-5, 5}), InvalidArgument);
  EXPECT_THROW(resize.crop({0, 5}, Sides::all), InvalidArgument);
  EXPECT_THROW(resize.crop({0, 5}, cv::Point()), InvalidArgument);
  EXPECT_THROW(resize.pad({0, 5}, Sides::all), InvalidArgument);
  EXPECT_THROW(resize.pad({0, 5}, cv::Point()), InvalidArgument);
  EXPECT_THAT(message_of(ErrorCode::invalid_argument,
                         [&] {
                           resize.fit_exact({-5, 7});
                         }),
              HasSubstr("-5x7 is not at least 1x1"));
  EXPECT_EQ(resize.image().data, image.data);
  EXPECT_EQ(resize.to_frame({3, 4}), cv::Point2d(3, 4));
}

TEST(Resize, RefusesACropThatLeavesNothing) {
  for (const cv::Point point : {cv::Point(20, 0), cv::Point(0, 10), cv::Point(-5, 0),
                                cv::Point(2147483647, 0), cv::Point(-2147483647 - 1, 0)}) {
    const auto call = [point] { Resize(map_of(20, 10)).crop({5, 5}, point); };
    EXPECT_THAT(message_of(ErrorCode::empty_crop, call), HasSubstr("the image of 20x10"));
  }
}

TEST(Resize, RefusesACanvasThatDoesNotContainTheImage) {
  for (const cv::Point point : {cv::Point(-1, 0), cv::Point(0, -1), cv::Point(11, 0),
                                cv::Point(0, 21), cv::Point(2147483647, 0)}) {
    const auto call = [point] { Resize(map_of(20, 10)).pad({30, 30}, point); };
    EXPECT_THAT(message_of(ErrorCode::invalid_argument, call),
                HasSubstr("does not lie within 30x30"));
  }
}

TEST(Resize, RefusesAnAspectThatNoImageCanHave) {
  const auto call = [] { Resize(map_of(1, 255)).fit_width(100'000'000); };
  EXPECT_THAT(message_of(ErrorCode::invalid_argument, call), HasSubstr("crop it first"));
}

TEST(Resize, RefusesAFrameWithoutPixels) { EXPECT_THROW(Resize{cv::Mat()}, InvalidArgument); }

}  // namespace
}  // namespace vcap
