// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/turned_crop.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "support/throws_error.hpp"

namespace vcap {
namespace {

using std::numbers::pi;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

void expect_near(cv::Point2d is, cv::Point2d wanted, double distance = 1e-9) {
  EXPECT_LE(cv::norm(is - wanted), distance) << is << ", wanted is " << wanted;
}

cv::Mat noise(cv::Size size) {
  cv::Mat picture(size, CV_8UC3);
  cv::RNG(1).fill(picture, cv::RNG::UNIFORM, 0, 256);
  return picture;
}

/// A black picture with a white disc.
cv::Mat disc_at(cv::Point2d centre, cv::Size size = {200, 160}) {
  cv::Mat picture(size, CV_8UC1, cv::Scalar(0));
  constexpr double kParts =
      256;  // parts per pixel, as OpenCV draws; it counts from the middle of pixels
  cv::circle(picture, {cvRound((centre.x - 0.5) * kParts), cvRound((centre.y - 0.5) * kParts)},
             static_cast<int>(5 * kParts), cv::Scalar(255), cv::FILLED, cv::LINE_AA, 8);
  return picture;
}

cv::Point2d centre_of_light(const cv::Mat& picture) {
  const cv::Moments moments = cv::moments(picture);
  return {moments.m10 / moments.m00 + 0.5, moments.m01 / moments.m00 + 0.5};
}

TEST(TurnedBox, IsTheSquareAroundABox) {
  EXPECT_EQ(TurnedBox::square({10, 20, 50, 40}, 1.5, 0.25),
            (TurnedBox{.centre = {30, 30}, .size = {60, 60}, .angle = 0.25}));
  EXPECT_EQ(TurnedBox::square({10, 20, 10.5, 20.25}, 2).size, cv::Size2d(2, 2));
}

TEST(TurnedCrop, IsThePartItselfForAnUprightBoxOfTheSameSize) {
  const cv::Mat frame = noise({60, 50});
  const TurnedCrop crop(frame, {.centre = {25, 20}, .size = {30, 20}}, {30, 20});
  EXPECT_EQ(crop.image().type(), CV_8UC3);
  EXPECT_EQ(cv::norm(crop.image(), frame({10, 10, 30, 20}), cv::NORM_INF), 0);
  expect_near(crop.to_frame(cv::Point2d(0, 0)), {10, 10});
  expect_near(crop.to_frame(cv::Point2d(30, 20)), {40, 30});
}

TEST(TurnedCrop, TurnsByAQuarterExactly) {
  const cv::Mat frame = noise({60, 50});
  const TurnedCrop crop(frame, {.centre = {30, 25}, .size = {20, 30}, .angle = pi / 2}, {20, 30});
  cv::Mat upright;
  cv::rotate(frame({15, 15, 30, 20}), upright, cv::ROTATE_90_COUNTERCLOCKWISE);
  EXPECT_EQ(cv::norm(crop.image(), upright, cv::NORM_INF), 0);
  expect_near(crop.to_frame(cv::Point2d(0, 0)), {45, 15});
  expect_near(crop.to_frame(cv::Point2d(20, 30)), {15, 35});
}

TEST(TurnedCrop, MapsPointsBackToTheirPixels) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int round = 0; round < 100; ++round) {
    const cv::Point2d light(60 + 80 * unit(random), 50 + 60 * unit(random));
    const TurnedBox box{
        .centre = light + cv::Point2d(20 * unit(random) - 10, 20 * unit(random) - 10),
        .size = {60 + 60 * unit(random), 60 + 60 * unit(random)},
        .angle = 10 * unit(random) - 5};
    const TurnedCrop crop(disc_at(light), box, {96, 80});
    expect_near(crop.to_frame(centre_of_light(crop.image())), light, 0.1);
  }
}

TEST(TurnedCrop, MapsDepthBackWithTheScaleOfX) {
  const TurnedCrop crop(noise({60, 50}), {.centre = {30, 20}, .size = {40, 10}, .angle = 1},
                        {20, 20});
  const Keypoint keypoint{.name = "nose", .point = {10, 10}, .z = -3, .confidence = 0.5};
  const Keypoint in_frame = crop.to_frame(keypoint);
  expect_near(in_frame.point, {30, 20});
  EXPECT_DOUBLE_EQ(in_frame.z.value(), -6);
  EXPECT_EQ(in_frame.name, "nose");
  EXPECT_EQ(in_frame.confidence, 0.5);
  EXPECT_EQ(crop.to_frame(Keypoint{.name = "nose"}).z, std::nullopt);
}

TEST(TurnedCrop, IsBlackBeyondTheFrame) {
  const cv::Mat frame(50, 60, CV_8UC3, cv::Scalar::all(200));
  const TurnedCrop half(frame, {.centre = {0, 25}, .size = {40, 40}}, {40, 40});
  EXPECT_EQ(cv::norm(half.image().colRange(0, 20), cv::NORM_INF), 0);
  EXPECT_EQ(cv::mean(half.image().colRange(20, 40)), cv::Scalar(200, 200, 200));
  for (const double x : {-1000.0, 1e9, -1e300}) {
    const TurnedCrop outside(frame, {.centre = {x, 25}, .size = {40, 40}}, {16, 8});
    EXPECT_EQ(outside.image().size(), cv::Size(16, 8));
    EXPECT_EQ(cv::norm(outside.image(), cv::NORM_INF), 0);
  }
}

TEST(TurnedCrop, AcceptsPartsOfFramesThatAreTooWideForOpenCV) {
  cv::Mat frame(8, 70000, CV_8UC1, cv::Scalar(0));
  frame.at<unsigned char>(4, 69000) = 255;
  const TurnedCrop crop(frame, {.centre = {69000.5, 4.5}, .size = {5, 5}}, {5, 5});
  EXPECT_EQ(crop.image().at<unsigned char>(2, 2), 255);
  EXPECT_EQ(cv::countNonZero(crop.image()), 1);
}

TEST(TurnedCrop, LeavesTheFrameAsItIs) {
  const cv::Mat frame = noise({60, 50});
  const cv::Mat before = frame.clone();
  TurnedCrop(frame, {.centre = {30, 25}, .size = {60, 50}}, {60, 50}).image().setTo(0);
  EXPECT_EQ(cv::norm(frame, before, cv::NORM_INF), 0);
}

TEST(TurnedCrop, RefusesBoxesWithoutAreaOrWithoutFiniteValues) {
  const cv::Mat frame = noise({60, 50});
  for (const TurnedBox& box :
       {TurnedBox{.centre = {30, 25}}, TurnedBox{.centre = {30, 25}, .size = {0, 5}},
        TurnedBox{.centre = {30, 25}, .size = {5, -5}},
        TurnedBox{.centre = {kNaN, 25}, .size = {5, 5}},
        TurnedBox{.centre = {30, kInf}, .size = {5, 5}},
        TurnedBox{.centre = {30, 25}, .size = {kInf, 5}},
        TurnedBox{.centre = {30, 25}, .size = {5, kNaN}},
        TurnedBox{.centre = {30, 25}, .size = {5, 5}, .angle = kNaN}})
    EXPECT_THAT(
        [&] {
          TurnedCrop(frame, box, {5, 5});
        },
        ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                     testing::HasSubstr("needs sides > 0")));
}

TEST(TurnedCrop, RefusesFramesAndSizesWithoutPixels) {
  const TurnedBox box{.centre = {30, 25}, .size = {5, 5}};
  EXPECT_THROW(TurnedCrop(cv::Mat(), box, {5, 5}), InvalidArgument);
  EXPECT_THROW(TurnedCrop(noise({60, 50}), box, {0, 5}), InvalidArgument);
}

}  // namespace
}  // namespace vcap
