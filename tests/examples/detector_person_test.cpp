// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>

#include "examples/networks.hpp"
#include "support/paths.hpp"
#include "vcap/algorithms/iou.hpp"
#include "vcap/base/error.hpp"

namespace {

using testing::IsEmpty;
using PersonBoxes = std::vector<vcap::BoundingBox>;

/// The labels of people in a frame, without ignored ones (tests/data/vtest/README.md).
PersonBoxes labels_of(int frame) {
  const auto json = nlohmann::json::parse(
      std::ifstream(vcap::test::in_sources("tests/data/vtest/people_development.json")));
  PersonBoxes boxes;
  for (const auto& one : json.at("annotations")) {
    if (one.at("image_id") != frame || one.value("iscrowd", 0) != 0) continue;
    const auto& box = one.at("bbox");
    boxes.push_back({box[0], box[1], box[0].get<double>() + box[2].get<double>(),
                     box[1].get<double>() + box[3].get<double>()});
  }
  return boxes;
}

/// How many labels are found, each by another box.
std::size_t found_of(const PersonBoxes& labels, PersonBoxes found) {
  std::size_t count = 0;
  for (const vcap::BoundingBox& label : labels) {
    const auto best = std::ranges::max_element(
        found, {}, [&](const vcap::BoundingBox& box) { return vcap::iou(box, label); });
    if (best == found.end() || vcap::iou(*best, label) < 0.5) continue;
    found.erase(best);
    ++count;
  }
  return count;
}

class DetectorPersonNetwork : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_NETWORK("detector_person");
    capsule_ = examples::load("detector_person");
    options_ = capsule_->default_options();
  }

  /// Frame `index` of a stream of 10 frames a second.
  PersonBoxes show(const cv::Mat& picture, std::int64_t index, const std::string& stream = "yard") {
    PersonBoxes boxes;
    const vcap::Frame frame{
        .image = picture, .index = index, .pts = std::chrono::milliseconds(100 * index)};
    for (const vcap::DetectionNode& node : capsule_->process_frame(frame, {}, options_, stream)) {
      EXPECT_EQ(node.name, "person");
      EXPECT_GE(node.confidence().value_or(-1), options_.get<double>("threshold"));
      boxes.push_back(node.bbox());
      const vcap::BoundingBox& box = boxes.back();
      EXPECT_TRUE(0 <= box.x1 && box.x1 < box.x2 && box.x2 <= picture.cols) << nlohmann::json(box);
      EXPECT_TRUE(0 <= box.y1 && box.y1 < box.y2 && box.y2 <= picture.rows) << nlohmann::json(box);
    }
    return boxes;
  }

  static const std::vector<cv::Mat>& clip() {
    static const std::vector<cv::Mat> frames = examples::read_frames(examples::footage(), 60);
    return frames;
  }
  /// What the capsule finds on each of the clip's frames.
  std::map<int, PersonBoxes> found_in_clip(const std::string& stream) {
    std::map<int, PersonBoxes> found;
    for (int i = 0; i < 60; ++i) found[i] = show(clip()[static_cast<std::size_t>(i)], i, stream);
    return found;
  }

  std::shared_ptr<vcap::Capsule> capsule_;
  vcap::OptionValues options_;
};

// The test uses the labels of two frames; those of other frames are for the reported figures.
TEST_F(DetectorPersonNetwork, FindsThePeopleOfTheClipAndGivesTheSameAgain) {
  const std::map<int, PersonBoxes> found = found_in_clip("one");
  std::size_t labels = 0, hits = 0, boxes = 0;
  for (const int frame : {0, 40}) {
    labels += labels_of(frame).size();
    boxes += found.at(frame).size();
    hits += found_of(labels_of(frame), found.at(frame));
  }
  ASSERT_GE(labels, 8u);
  EXPECT_GE(hits * 100, labels * 55) << hits << " of " << labels;  // tiles only, so early
  EXPECT_GE(hits * 100, boxes * 85) << hits << " of " << boxes;
  // Persons in a later frame are found, too.
  EXPECT_GE(found.at(59).size(), 4u);
  EXPECT_EQ(found_in_clip("two"), found) << "another stream or run gave other people";
}

TEST_F(DetectorPersonNetwork, KeepsStreamsApart) {
  const PersonBoxes first = show(clip()[0], 0, "clip");
  for (int i = 1; i < 12; ++i) {
    show(clip()[static_cast<std::size_t>(i)], i, "clip");
    show(cv::Mat(576, 768, CV_8UC3, cv::Scalar::all(127)), i, "wall");
  }
  EXPECT_THAT(show(cv::Mat(576, 768, CV_8UC3, cv::Scalar::all(127)), 12, "wall"), IsEmpty());
  EXPECT_EQ(show(clip()[0], 0, "new"), first);
}

TEST_F(DetectorPersonNetwork, SearchesEveryFrameTheSameWayIfTheCameraMoves) {
  options_.set("static_camera", false);
  const PersonBoxes alone = show(clip()[40], 0, "alone");
  EXPECT_THAT(alone, testing::Not(IsEmpty()));
  for (int i = 0; i < 8; ++i) show(clip()[static_cast<std::size_t>(i)], i, "moving");
  EXPECT_EQ(show(clip()[40], 8, "moving"), alone);
}

TEST_F(DetectorPersonNetwork, SearchesTheWholePictureWhenTheViewChanges) {
  for (int i = 0; i < 8; ++i) show(clip()[static_cast<std::size_t>(i)], i);
  cv::Mat turned;
  cv::flip(clip()[40], turned, 0);
  show(turned, 8);
  options_.set("static_camera", false);
  const PersonBoxes whole = show(turned, 9, "moving");
  options_.set("static_camera", true);
  EXPECT_EQ(show(turned, 10), whole);
}

TEST_F(DetectorPersonNetwork, AcceptsPicturesOfAnySizeAndChangesOfSize) {
  std::int64_t index = 0;
  for (const cv::Size size : {cv::Size(1, 1), {3, 2}, {1, 300}, {641, 479}, {64, 48}})
    for (int i = 0; i < 7; ++i)
      EXPECT_THAT(show(cv::Mat(size, CV_8UC3, cv::Scalar::all(90 + i)), index++), IsEmpty())
          << size;
}

TEST_F(DetectorPersonNetwork, LeavesOutPersonsBelowTheThreshold) {
  options_.set("threshold", 0.2);
  const std::size_t many = show(clip()[0], 0, "low").size();
  options_.set("threshold", 0.9);
  const std::size_t few = show(clip()[0], 0, "high").size();
  EXPECT_GT(many, few);
}

TEST_F(DetectorPersonNetwork, RefusesOptionsOutsideTheirRange) {
  EXPECT_THROW(options_.set("tile_size", 10), vcap::OptionError);
  EXPECT_THROW(options_.set("tile_overlap", 0.95), vcap::OptionError);
}

TEST_F(DetectorPersonNetwork, KeepsItsStateOnlyAtGaps) {
  EXPECT_EQ(capsule_->info().keeps_state_at,
            std::vector<vcap::Discontinuity>{vcap::Discontinuity::gap});
}

}  // namespace
