// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <opencv2/imgproc.hpp>

#include "examples/streams.hpp"
#include "vcap/algorithms/iou.hpp"

namespace {

using testing::ElementsAre;

/// A texture that the flow can follow: noise with spots of some pixels.
cv::Mat texture(cv::Size size, std::uint64_t seed) {
  cv::Mat picture(size, CV_8UC3);
  cv::RNG(seed).fill(picture, cv::RNG::UNIFORM, 0, 255);
  cv::GaussianBlur(picture, picture, {0, 0}, 4);
  cv::normalize(picture, picture, 0, 255, cv::NORM_MINMAX);
  return picture;
}

const cv::Rect kSquare(200, 150, 120, 120);

/// Tolerance: flow is smooth, so it is a little slower at the edges of a moving thing than inside.
constexpr double kAtEdges = 0.25;

/// A square in front of a wall, moved by `way` from its first place.
cv::Mat square_moved_by(cv::Point way, cv::Size size = {640, 480}) {
  cv::Mat picture = texture(size, 5);
  texture(kSquare.size(), 7).copyTo(picture(kSquare + way));
  return picture;
}

cv::Vec2d velocity(const vcap::DetectionNode& node) {
  const auto [x, y] = node.extra_data.at("pixels_per_second").get<std::array<double, 2>>();
  return {x, y};
}

void expect_velocity(const vcap::DetectionNode& node, const cv::Vec2d& expected, double within) {
  EXPECT_LT(cv::norm(velocity(node), expected), within * cv::norm(expected))
      << velocity(node) << " in place of " << expected;
}

class MotionFlow : public testing::Test {
 protected:
  /// The nodes that it finds in `now`, which comes `pause` after `before`.
  std::vector<vcap::DetectionNode> find(
      const cv::Mat& before, const cv::Mat& now,
      std::chrono::milliseconds pause = std::chrono::milliseconds(40)) {
    const vcap::Frame window[] = {{.image = before, .index = 0},
                                  {.image = now, .index = 1, .pts = pause}};
    vcap::DetectionNodes nodes[2];
    return capsule_->process_window(window[1], window, nodes, options_).take();
  }

  std::shared_ptr<vcap::Capsule> capsule_ = examples::load("motion_flow");
  vcap::OptionValues options_ = capsule_->default_options();
};

TEST_F(MotionFlow, FindsNoMotionIfNothingMoves) {
  const auto found = find(square_moved_by({}), square_moved_by({}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "motion");
  EXPECT_EQ(velocity(found[0]), cv::Vec2d(0, 0));
}

TEST_F(MotionFlow, FindsAMovingThingAndItsSpeed) {
  for (const cv::Point way : {cv::Point(8, 0), {-10, 6}, {0, 12}, {3, -16}}) {
    SCOPED_TRACE(testing::Message() << way);
    const auto found = find(square_moved_by({}), square_moved_by(way));
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[1].name, "moving");
    expect_velocity(found[1], cv::Vec2d(way.x, way.y) * 25, kAtEdges);
    const cv::Rect square = kSquare + way;
    EXPECT_GT(vcap::iou(found[1].bbox(),
                        vcap::BoundingBox::around(vcap::rect_to_coords(cv::Rect2d(square)))),
              0.6);
  }
}

TEST_F(MotionFlow, MeasuresTheMotionOfThePicture) {
  const cv::Mat wall = texture({800, 600}, 3);
  const auto found = find(wall(cv::Rect(40, 40, 640, 480)), wall(cv::Rect(34, 43, 640, 480)));
  expect_velocity(found.front(), {6 * 25, -3 * 25}, 0.1);
}

TEST_F(MotionFlow, MeasuresSpeedByTimeAndNotByFrames) {
  const auto found = find(square_moved_by({}), square_moved_by({8, 4}), std::chrono::seconds(1));
  ASSERT_EQ(found.size(), 1u) << "nothing is as fast as 25 pixels a second";
  options_.set("min_speed", 5.0);
  const auto slow = find(square_moved_by({}), square_moved_by({8, 4}), std::chrono::seconds(1));
  ASSERT_EQ(slow.size(), 2u);
  expect_velocity(slow[1], {8, 4}, kAtEdges);
}

TEST_F(MotionFlow, LeavesOutThingsBelowTheAreaOfItsOption) {
  options_.set("min_area", 120 * 120 * 2);
  EXPECT_EQ(find(square_moved_by({}), square_moved_by({8, 0})).size(), 1u);
}

TEST_F(MotionFlow, AcceptsPicturesOfAnySize) {
  for (const cv::Size size :
       {cv::Size(1, 1), {3, 2}, {16, 16}, {17, 31}, {3000, 2}, {1, 900}, {641, 479}}) {
    SCOPED_TRACE(testing::Message() << size);
    const auto found = find(texture(size, 1), texture(size, 2));
    const vcap::BoundingBox whole = found.at(0).bbox();
    EXPECT_NEAR(whole.width(), size.width, 1e-9);
    EXPECT_NEAR(whole.height(), size.height, 1e-9);
    for (const vcap::DetectionNode& node : found)
      EXPECT_TRUE(capsule_->info().output_type.describes(node));
  }
}

TEST_F(MotionFlow, StartsAgainIfThereIsNothingToCompareWith) {
  std::vector<cv::Mat> pictures;
  for (int i = 0; i < 6; ++i) pictures.push_back(square_moved_by({8 * i, 0}));
  pictures.push_back(square_moved_by({48, 0}, {500, 400}));
  std::vector<std::size_t> found;
  for (const vcap::FrameRecord& record : examples::run(capsule_, pictures, {3}))
    found.push_back(record.objects.size());
  EXPECT_THAT(found, ElementsAre(1, 2, 2, 1, 2, 2, 1))
      << "there is no motion at the start, after a seek, and at another size";
}

TEST_F(MotionFlow, GivesTheSameWithAnyNumberOfThreads) {
  EXPECT_TRUE(examples::gives_the_same_with_any_threads(
      capsule_, examples::read_frames(examples::footage(), 20)));
}

}  // namespace
