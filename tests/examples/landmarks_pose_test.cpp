// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "examples/networks.hpp"

namespace {

using examples::point;

class LandmarksPose : public testing::Test {
 protected:
  void SetUp() override { REQUIRE_NETWORK("landmarks_pose"); }
};

TEST_F(LandmarksPose, PutsTheJointsOfAFootballerWhereTheyAre) {
  const auto player = examples::process("landmarks_pose", examples::picture("messi5.jpg"),
                                        examples::person({70, 60, 390, 280}));
  EXPECT_GT(player.extra_data.at("pose_presence").get<double>(), 0.5);
  EXPECT_EQ(player.keypoints.size(), 33u);
  // Positions read by eye from the picture.
  EXPECT_LT(cv::norm(point(player, "nose") - cv::Point2d(246, 114)), 15);
  EXPECT_LT(cv::norm(point(player, "right_wrist") - cv::Point2d(103, 101)), 15);
  EXPECT_LT(cv::norm(point(player, "left_wrist") - cv::Point2d(345, 163)), 15);
  EXPECT_LT(cv::norm(point(player, "left_ankle") - cv::Point2d(416, 257)), 30);
  EXPECT_LT(cv::norm(point(player, "right_knee") - cv::Point2d(228, 284)), 25);
  for (const vcap::Keypoint& keypoint : player.keypoints) {
    ASSERT_TRUE(keypoint.confidence.has_value()) << keypoint.name;
    EXPECT_THAT(*keypoint.confidence, testing::AllOf(testing::Ge(0.0), testing::Le(1.0)));
  }
}

TEST_F(LandmarksPose, GivesNoJointsWithoutAPerson) {
  const cv::Mat gray(240, 320, CV_8UC3, cv::Scalar::all(127));
  const auto node = examples::process("landmarks_pose", gray, examples::person({100, 60, 80, 160}));
  EXPECT_LT(node.extra_data.at("pose_presence").get<double>(), 0.5);
  EXPECT_TRUE(node.keypoints.empty());
}

}  // namespace
