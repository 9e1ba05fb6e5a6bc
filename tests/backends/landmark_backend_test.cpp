// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/landmark_backend.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numbers>

#include <nlohmann/json.hpp>

#include "backends/fake_engine.hpp"

namespace vcap::test {
namespace {

/// A model of 4×4 pixels. Its points are always the same. Its presence is 1 unless the first pixel
/// that it gets is black.
class LandmarkBackendTest : public testing::Test {
 protected:
  LandmarkBackendTest() {
    const auto plan = std::make_shared<FakePlan>();
    plan->constants = {{"points", {0, 0, 1, 4, 2, -2}}};
    LandmarkSettings settings;
    settings.points = {"points", 0};
    settings.names = {"eye", "ear"};
    settings.values = 3;
    settings.z = 2;
    settings.flag = CertaintyOutput{{"value", 0}, false};
    settings.threshold = 0;
    backend_ = std::make_unique<LandmarkBackend>(
        std::make_shared<ModelRunner>(std::make_shared<FakeEngine>(plan), ModelFile{},
                                      PictureInput{}, EngineSettings{}),
        LandmarkReader(settings),
        [this](const DetectionNode& node) { return TurnedBox::square(node.bbox(), 2, angle_); },
        "presence");
  }

  DetectionNode process(int brightness, const OptionValues& options = {}) {
    const cv::Mat image(60, 80, CV_8UC3, cv::Scalar::all(brightness));
    DetectionNode face{.name = "face",
                       .coords = rect_to_coords(cv::Rect2d(20, 30, 10, 8)),
                       .keypoints = {{.name = "nose", .point = {1, 2}}}};
    BaseStreamState state;
    return backend_
        ->process_frame({.image = image}, DetectionNodes::single(std::move(face)), options, state)
        .node();
  }

  double angle_ = 0;
  std::unique_ptr<LandmarkBackend> backend_;
};

TEST_F(LandmarkBackendTest, AddsPointsInPixelsOfTheFrame) {
  const DetectionNode face = process(255);
  EXPECT_EQ(face.extra_data.at("presence"), 1);
  ASSERT_EQ(face.keypoints.size(), 3u);
  EXPECT_EQ(face.keypoints[0].name, "nose");
  // The input of 4×4 shows the square of 20×20 around (25, 34).
  EXPECT_EQ(face.keypoints[1].name, "eye");
  EXPECT_EQ(face.keypoints[1].point, cv::Point2d(15, 24));
  EXPECT_EQ(face.keypoints[1].z, 5);
  EXPECT_EQ(face.keypoints[2].point, cv::Point2d(35, 34));
  EXPECT_EQ(face.keypoints[2].z, -10);
}

TEST_F(LandmarkBackendTest, MapsPointsBackFromARotatedPart) {
  angle_ = std::numbers::pi / 2;
  const DetectionNode face = process(255);
  ASSERT_EQ(face.keypoints.size(), 3u);
  EXPECT_LT(cv::norm(face.keypoints[1].point - cv::Point2d(35, 24)), 1e-9);
  EXPECT_LT(cv::norm(face.keypoints[2].point - cv::Point2d(25, 44)), 1e-9);
}

TEST_F(LandmarkBackendTest, GivesOnlyThePresenceBelowTheThreshold) {
  const OptionValues options({{"threshold", FloatOption{.default_value = 0.5}}});
  const DetectionNode face = process(0, options);
  EXPECT_EQ(face.extra_data.at("presence"), 0);
  EXPECT_EQ(face.keypoints.size(), 1u) << "the node's own keypoints are lost";
  EXPECT_EQ(process(255, options).keypoints.size(), 3u);
}

TEST_F(LandmarkBackendTest, GivesAllPointsOfTheReaderWithoutAThreshold) {
  EXPECT_EQ(process(0).keypoints.size(), 3u);
}

}  // namespace
}  // namespace vcap::test
