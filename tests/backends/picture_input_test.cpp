// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/picture_input.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "backends/engine_conformance.hpp"
#include "vcap/backends/model_outputs.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Fit = PictureInput::Fit;
using Interpolation = PictureInput::Interpolation;

constexpr Fit kFits[] = {Fit::stretch, Fit::letterbox, Fit::letterbox_corner, Fit::crop_centre};

TEST(PictureInput, IsValidByDefaultAndAtItsBounds) {
  PictureInput input;
  EXPECT_NO_THROW(validate(input));
  input.padding = 255;
  input.mean = {1, 2, 3};
  input.scale = {-1, 1e-3, 255};
  input.sizes = {{1, 1}, {1, 2}, {1 << 14, 1 << 14}};
  EXPECT_NO_THROW(validate(input));
  input.colors = PictureInput::Colors::gray;
  input.mean = input.scale = {1};
  EXPECT_NO_THROW(validate(input));
}

TEST(PictureInput, IsRefusedWithTheFieldItsValueAndTheAllowedRange) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto refused = [](const auto& change, const auto&... texts) {
    PictureInput input;
    change(input);
    EXPECT_THAT(
        [&] { validate(input); },
        ThrowsError<EngineError>(ErrorCode::invalid_model_spec,
                                 AllOf(HasSubstr("the model's input"), HasSubstr(texts)...)));
  };
  refused([](auto& input) { input.mean = {}; }, "mean", "0 numbers", "3");
  refused([](auto& input) { input.mean = {1, 2}; }, "mean", "2 numbers", "3");
  refused([](auto& input) { input.scale = {1, 2, 3, 4}; }, "scale", "4 numbers", "3");
  refused(
      [](auto& input) {
        input.colors = PictureInput::Colors::gray;
        input.mean = {1, 2, 3};
      },
      "mean", "3 numbers", "1");
  refused([=](auto& input) { input.mean = {0, kNan, 0}; }, "mean", "nan");
  refused([=](auto& input) { input.scale = {kInfinity}; }, "scale", "inf");
  refused([](auto& input) { input.mean = {1e300}; }, "mean", "1e+300");
  refused([](auto& input) { input.scale = {1, 0, 1}; }, "scale", "0", "give 1");
  refused([](auto& input) { input.scale = {1e-300}; }, "scale", "1e-300");
  refused([](auto& input) { input.padding = -1; }, "padding", "-1", "0 to 255");
  refused([](auto& input) { input.padding = 255.5; }, "padding", "255.5", "0 to 255");
  refused([=](auto& input) { input.padding = kNan; }, "padding", "nan");
  refused([](auto& input) { input.sizes = {{0, 5}}; }, "0x5", "16384");
  refused([](auto& input) { input.sizes = {{5, -1}}; }, "5x-1", "16384");
  refused([](auto& input) { input.sizes = {{(1 << 14) + 1, 1}}; }, "16385x1", "16384");
  refused([](auto& input) { input.sizes = {{8, 8}, {4, 4}}; }, "sizes", "rising");
  refused([](auto& input) { input.sizes = {{8, 8}, {8, 8}}; }, "sizes", "repetitions");
}

TEST(ChooseSize, ChoosesTheFirstSizeThatFitsThePicture) {
  const std::vector<cv::Size> sizes{{10, 10}, {20, 10}, {40, 20}};
  struct Case {
    cv::Size picture;
    Fit fit;
    std::size_t expected;
  };
  const Case cases[] = {
      {{10, 10}, Fit::stretch, 0},
      {{11, 10}, Fit::stretch, 1},
      {{10, 11}, Fit::crop_centre, 2},
      {{20, 10}, Fit::crop_centre, 1},
      {{41, 20}, Fit::stretch, 2},
      {{1000, 1000}, Fit::stretch, 2},
      {{1, 1}, Fit::stretch, 0},
      {{1000, 1000}, Fit::letterbox, 0},
      {{1001, 1000}, Fit::letterbox, 0},
      {{1100, 1000}, Fit::letterbox, 1},
      {{2000, 1000}, Fit::letterbox, 1},
      {{3000, 1000}, Fit::letterbox_corner, 2},
      {{1, 1000}, Fit::letterbox_corner, 0},
      {{1000, 1}, Fit::letterbox, 2},
  };
  for (const Case& one : cases)
    EXPECT_EQ(choose_size(sizes, one.picture, one.fit), one.expected)
        << one.picture << " " << static_cast<int>(one.fit);
}

/// The part of the target that is not padding: the picture is white, the padding is black.
cv::Rect drawn_part(const cv::Mat& target) {
  cv::Mat gray;
  cv::cvtColor(target, gray, cv::COLOR_BGR2GRAY);
  return cv::boundingRect(gray);
}

TEST(FitPicture, GivesTheMapFromTheInputBackToThePicture) {
  const cv::Size pictures[] = {{1, 1},     {1, 2},       {3, 7},    {640, 480},
                               {479, 641}, {1920, 1080}, {5000, 2}, {2, 5000},
                               {101, 101}, {64, 48},     {63, 47},  {65, 49}};
  const cv::Size targets[] = {{64, 48}, {1, 1}, {33, 57}, {640, 1}, {31, 31}};
  for (const cv::Size size : pictures)
    for (const cv::Size target_size : targets)
      for (const Fit fit : kFits) {
        SCOPED_TRACE(testing::Message()
                     << size << " to " << target_size << " by " << static_cast<int>(fit));
        PictureInput input;
        input.fit = fit;
        const cv::Mat picture(size, CV_8UC3, cv::Scalar::all(255));
        cv::Mat target(target_size, CV_8UC3, cv::Scalar::all(77));
        const unsigned char* const place = target.data;
        const PictureMap map = fit_picture(picture, input, target);
        ASSERT_EQ(target.data, place);
        ASSERT_EQ(target.size(), target_size);
        const cv::Rect part = drawn_part(target);
        const cv::Point2d first = map.to_frame(cv::Point2d(part.tl())),
                          last = map.to_frame(cv::Point2d(part.br()));
        if (fit == Fit::crop_centre) {
          ASSERT_EQ(part, cv::Rect({}, target_size));
          // The map gives a part of the picture of whole pixels, around its centre.
          EXPECT_GE(first.x, -1e-9);
          EXPECT_GE(first.y, -1e-9);
          EXPECT_LE(last.x, size.width + 1e-9);
          EXPECT_LE(last.y, size.height + 1e-9);
          EXPECT_NEAR(first.x, std::round(first.x), 1e-9);
          EXPECT_NEAR(last.y, std::round(last.y), 1e-9);
          EXPECT_LE(std::abs(first.x + last.x - size.width), 1 + 1e-9);
          EXPECT_LE(std::abs(first.y + last.y - size.height), 1 + 1e-9);
          EXPECT_TRUE(last.x - first.x > size.width - 1e-9 ||
                      last.y - first.y > size.height - 1e-9);
        } else {
          // The drawn part maps to the whole picture.
          EXPECT_NEAR(first.x, 0, 1e-9);
          EXPECT_NEAR(first.y, 0, 1e-9);
          EXPECT_NEAR(last.x, size.width, 1e-9 * size.width);
          EXPECT_NEAR(last.y, size.height, 1e-9 * size.height);
        }
        if (fit == Fit::stretch) {
          EXPECT_EQ(part, cv::Rect({}, target_size));
        }
        if (fit == Fit::letterbox || fit == Fit::letterbox_corner) {
          EXPECT_TRUE(part.width == target_size.width || part.height == target_size.height);
          const double scale = std::min(double(target_size.width) / size.width,
                                        double(target_size.height) / size.height);
          EXPECT_NEAR(part.width, std::max(1.0, size.width * scale), 0.5 + 1e-9);
          EXPECT_NEAR(part.height, std::max(1.0, size.height * scale), 0.5 + 1e-9);
          const bool corner = fit == Fit::letterbox_corner;
          EXPECT_EQ(part.x, corner ? 0 : (target_size.width - part.width) / 2);
          EXPECT_EQ(part.y, corner ? 0 : (target_size.height - part.height) / 2);
        }
        for (const cv::Point2d point : {cv::Point2d(0, 0), cv::Point2d(12.25, 7.5)})
          EXPECT_LT(cv::norm(map.from_frame(map.to_frame(point)) - point), 1e-9);
      }
}

TEST(FitPicture, FillsThePaddingAndNothingElse) {
  PictureInput input;
  input.padding = 114;
  const cv::Mat picture(20, 40, CV_8UC3, cv::Scalar(1, 2, 3));
  for (const bool corner : {false, true}) {
    input.fit = corner ? Fit::letterbox_corner : Fit::letterbox;
    cv::Mat target(41, 40, CV_8UC3, cv::Scalar::all(200));
    fit_picture(picture, input, target);
    const int top = corner ? 0 : 10;
    for (int y = 0; y < target.rows; ++y) {
      const bool drawn = y >= top && y < top + 20;
      ASSERT_EQ(target.at<cv::Vec3b>(y, 17), drawn ? cv::Vec3b(1, 2, 3) : cv::Vec3b(114, 114, 114))
          << y;
    }
  }
}

TEST(FitPicture, ResizesByTheGivenInterpolation) {
  const cv::Mat picture = noise(cv::Size(61, 37), 1);
  const std::pair<Interpolation, int> flags[] = {{Interpolation::linear, cv::INTER_LINEAR},
                                                 {Interpolation::area, cv::INTER_AREA},
                                                 {Interpolation::nearest, cv::INTER_NEAREST},
                                                 {Interpolation::cubic, cv::INTER_CUBIC}};
  for (const auto& [interpolation, flag] : flags) {
    PictureInput input;
    input.interpolation = interpolation;
    cv::Mat target(20, 30, CV_8UC3), expected;
    fit_picture(picture, input, target);
    cv::resize(picture, expected, target.size(), 0, 0, flag);
    EXPECT_EQ(cv::norm(target, expected, cv::NORM_INF), 0);
  }
}

TEST(FitPicture, AcceptsGrayAndFourChannels) {
  const cv::Mat four = noise(cv::Size(9, 7), 2, CV_8UC4), gray = noise(cv::Size(9, 7), 3, CV_8UC1);
  cv::Mat target(7, 9, CV_8UC3);
  EXPECT_EQ(fit_picture(four, {}, target), PictureMap{});
  for (int y = 0; y < 7; ++y)
    for (int x = 0; x < 9; ++x)
      for (int c = 0; c < 3; ++c)
        ASSERT_EQ(target.at<cv::Vec3b>(y, x)[c], four.at<cv::Vec4b>(y, x)[c]);
  fit_picture(gray, {}, target);
  for (int y = 0; y < 7; ++y)
    for (int x = 0; x < 9; ++x)
      ASSERT_EQ(target.at<cv::Vec3b>(y, x), cv::Vec3b::all(gray.at<unsigned char>(y, x)));
}

TEST(FitPicture, ReadsNothingOutsideAViewAndWritesNothingOutsideATarget) {
  for (const int type : {CV_8UC1, CV_8UC3, CV_8UC4})
    for (const Fit fit : kFits) {
      PictureInput input;
      input.fit = fit;
      input.interpolation = Interpolation::cubic;  // reads farthest around a pixel
      const cv::Mat large = noise(cv::Size(100, 80), 4, type);
      const cv::Mat view = large(cv::Rect(13, 11, 51, 33)), alone = view.clone();
      cv::Mat around(60, 60, CV_8UC3, cv::Scalar::all(9)), part = around(cv::Rect(10, 10, 24, 24));
      cv::Mat expected(24, 24, CV_8UC3);
      EXPECT_EQ(fit_picture(view, input, part), fit_picture(alone, input, expected));
      EXPECT_EQ(cv::norm(part, expected, cv::NORM_INF), 0);
      part.setTo(9);
      EXPECT_EQ(cv::norm(around, cv::Mat(60, 60, CV_8UC3, cv::Scalar::all(9)), cv::NORM_INF), 0);
      EXPECT_EQ(cv::norm(large, noise(cv::Size(100, 80), 4, type), cv::NORM_INF), 0);
    }
}

TEST(FitPicture, RefusesInvalidPictures) {
  cv::Mat target(4, 4, CV_8UC3);
  for (const cv::Mat& picture :
       {cv::Mat(), cv::Mat(0, 5, CV_8UC3), cv::Mat(4, 4, CV_8UC2, cv::Scalar(1)),
        cv::Mat(4, 4, CV_8SC3, cv::Scalar(1)), cv::Mat(4, 4, CV_16UC3, cv::Scalar(1)),
        cv::Mat(4, 4, CV_32FC1, cv::Scalar(1)),
        cv::Mat(std::vector<int>{4, 4, 4}, CV_8UC1, cv::Scalar(1))})
    EXPECT_THAT([&] { fit_picture(picture, {}, target); },
                ThrowsError<EngineError>(ErrorCode::model_input, HasSubstr("1, 3 or 4 channels")));
}

TEST(ModelOutputs, ListTheNamesIfOneIsMissing) {
  const std::vector<float> values(6);
  const std::vector<TensorView> tensors{{"boxes", {1, 2, 3}, values}, {"scores", {6}, values}};
  const ModelOutputs outputs{tensors, {}, {}, {}};
  EXPECT_EQ(outputs.at("scores").shape_text(), "[6]");
  EXPECT_EQ(outputs.at(0).shape_text(), "[1,2,3]");
  EXPECT_THAT([&] { outputs.at("score"); },
              ThrowsError<EngineError>(ErrorCode::model_output,
                                       AllOf(HasSubstr("\"score\""), HasSubstr("boxes, scores"))));
  EXPECT_THAT([&] { outputs.at(2); },
              ThrowsError<EngineError>(ErrorCode::model_output,
                                       AllOf(HasSubstr("2 outputs"), HasSubstr("output 2"))));
}

}  // namespace
}  // namespace vcap::test
