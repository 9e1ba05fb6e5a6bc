// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <map>
#include <opencv2/imgproc.hpp>
#include <opencv2/objdetect.hpp>
#include <tuple>

#include "examples/examples.hpp"
#include "examples/streams.hpp"
#include "vcap/base/error.hpp"

namespace {

/// x, y, width, height, confidence.
using Box = std::tuple<double, double, double, double, double>;
using Boxes = std::vector<Box>;

/// The boxes that a program without vcap would get.
Boxes plain_opencv(const cv::Mat& image) {
  static const cv::HOGDescriptor hog = [] {
    cv::HOGDescriptor made;
    made.setSVMDetector(cv::HOGDescriptor::getDefaultPeopleDetector());
    return made;
  }();
  std::vector<cv::Rect> rects;
  std::vector<double> margins;
  hog.detectMultiScale(image, rects, margins, 0, cv::Size(8, 8), cv::Size(8, 8), 1.05, 2);
  Boxes boxes;
  // The person fills the middle of the window: half of its width, three quarters of its height.
  for (std::size_t i = 0; i < rects.size(); ++i)
    boxes.emplace_back(rects[i].x + 0.25 * rects[i].width, rects[i].y + 0.125 * rects[i].height,
                       0.5 * rects[i].width, 0.75 * rects[i].height, std::tanh(margins[i]));
  std::ranges::sort(boxes);
  return boxes;
}

Boxes boxes_of(const vcap::DetectionNodes& nodes) {
  Boxes boxes;
  for (const vcap::DetectionNode& node : nodes) {
    const vcap::BoundingBox box = node.bbox();
    boxes.emplace_back(box.x1, box.y1, box.width(), box.height(), node.confidence().value());
  }
  std::ranges::sort(boxes);
  return boxes;
}

class DetectorPersonHog : public testing::Test {
 protected:
  vcap::DetectionNodes detect(const cv::Mat& image) {
    return capsule_->process_frame({.image = image}, {}, options_);
  }

  std::shared_ptr<vcap::Capsule> capsule_ = examples::load("detector_person_hog");
  vcap::OptionValues options_ = capsule_->default_options();
};

TEST_F(DetectorPersonHog, GivesExactlyTheBoxesOfAPlainLoop) {
  const examples::OpenCvThreads one(1);  // with more, OpenCV sometimes mixes the margins up
  options_.set("threshold", 0.0);
  std::size_t count = 0;
  const std::vector<cv::Mat> frames = examples::read_frames(examples::footage(), 100);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    auto expected = std::async(std::launch::async, plain_opencv, frames[i]);
    const Boxes found = boxes_of(detect(frames[i]));
    ASSERT_EQ(found, expected.get()) << "frame " << i;
    count += found.size();
  }
  EXPECT_GT(count, frames.size()) << "too few boxes to compare";
}

TEST_F(DetectorPersonHog, GivesTheSameBoxesWhenManyFramesShareABatch) {
  const std::vector<cv::Mat> frames = examples::read_frames(examples::footage(), 8);
  std::vector<std::future<vcap::DetectionNodes>> together;
  for (const cv::Mat& frame : frames)
    together.push_back(std::async(std::launch::async, [&] { return detect(frame); }));
  for (std::size_t i = 0; i < frames.size(); ++i)
    EXPECT_EQ(together[i].get(), detect(frames[i])) << "frame " << i;
}

TEST_F(DetectorPersonHog, LeavesOutExactlyTheBoxesBelowTheThreshold) {
  for (const cv::Mat& frame : examples::read_frames(examples::footage(), 4)) {
    options_.set("threshold", 0.0);
    Boxes expected = boxes_of(detect(frame));
    std::erase_if(expected, [](const Box& box) { return std::get<4>(box) < 0.8; });
    options_.set("threshold", 0.8);
    EXPECT_EQ(boxes_of(detect(frame)), expected);
  }
}

TEST_F(DetectorPersonHog, GivesTheMostConfidentPersonFirst) {
  const vcap::DetectionNodes people = detect(examples::read_frames(examples::footage(), 1).front());
  ASSERT_GE(people.size(), 2u);
  EXPECT_TRUE(std::ranges::is_sorted(people, std::ranges::greater{},
                                     [](const auto& node) { return *node.confidence(); }));
}

TEST_F(DetectorPersonHog, SearchesASmallerCopyAndGivesBoxesOfTheWholeFrame) {
  const cv::Mat small = examples::read_frames(examples::footage(), 1).front();
  cv::Mat large;
  cv::resize(small, large, {}, 2, 2, cv::INTER_NEAREST);  // its 2 × 2 means give `small`
  Boxes expected = plain_opencv(small);
  for (auto& [x, y, width, height, confidence] : expected) x *= 2, y *= 2, width *= 2, height *= 2;
  ASSERT_FALSE(expected.empty());

  options_.set("threshold", 0.0);
  options_.set("scale_frame", true);
  options_.set("scale_frame_max_side_length", small.cols);
  EXPECT_EQ(boxes_of(detect(large)), expected);
}

TEST_F(DetectorPersonHog, FindsNobodyInAnEmptyPictureOfAnySize) {
  for (const cv::Size size :
       {cv::Size(320, 240), cv::Size(64, 128), cv::Size(63, 127), cv::Size(1, 1)})
    EXPECT_TRUE(detect(cv::Mat(size, CV_8UC3, cv::Scalar::all(127))).empty()) << size;
}

TEST_F(DetectorPersonHog, RefusesAThresholdAboveOne) {
  try {
    options_.set("threshold", 1.7);
    FAIL() << "1.7 was taken";
  } catch (const vcap::OptionError& error) {
    EXPECT_EQ(error.code(), vcap::ErrorCode::option_range);
    EXPECT_THAT(error.what(), testing::HasSubstr("capsule detector_person_hog"));
  }
}

}  // namespace
