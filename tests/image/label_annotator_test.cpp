// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/label_annotator.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <opencv2/imgproc.hpp>

#include "image/annotator_canvas.hpp"
#include "vcap/base/error.hpp"
#include "vcap/image/draw_nodes.hpp"

namespace vcap {
namespace {

using std::chrono::milliseconds;
using test::annotated;
using test::box_node;
using test::canvas;
using test::drawn_mask;
using test::equal_images;

cv::Rect extent_of(const cv::Mat& image) { return cv::boundingRect(drawn_mask(image)); }

DetectionNode tracked(const BoundingBox& box, int number, std::string name = "person") {
  DetectionNode node = box_node(box, std::move(name));
  node.track_id = test::track(number);
  return node;
}

/// The part of each colour's pixels that a label shows if nothing covers it.
int pixels_of_label(const DetectionNode& node) {
  LabelAnnotator labels;
  cv::Mat patch;
  const cv::Scalar color = stable_color(node.track_id->to_string());
  cv::inRange(annotated(labels, node), color, color, patch);
  return cv::countNonZero(patch);
}

TEST(LabelAnnotator, ShowsEveryLabelOfANarrowRowInFull) {
  std::vector<DetectionNode> row;
  for (int i = 0; i < 6; ++i)
    row.push_back(tracked({60.0 + 25 * i, 100, 90.0 + 25 * i, 180}, i + 1));
  LabelAnnotator labels;
  const cv::Mat image = annotated(labels, row);
  EXPECT_EQ(labels.left_out(), 0u);
  for (const DetectionNode& node : row) {
    const cv::Scalar color = stable_color(node.track_id->to_string());
    cv::Mat patch;
    cv::inRange(image, color, color, patch);
    EXPECT_GE(cv::countNonZero(patch), pixels_of_label(node)) << node.track_id->to_string();
  }
}

TEST(LabelAnnotator, DoesNotDependOnTheOrderOfTheNodes) {
  std::vector<DetectionNode> nodes;
  for (int i = 0; i < 20; ++i)
    nodes.push_back(i % 2 == 0 ? tracked({10.0 * i, 90, 10.0 * i + 30, 150}, i + 1)
                               : box_node({10.0 * i, 95, 10.0 * i + 40, 170}, "car"));
  LabelAnnotator labels;
  const cv::Mat expected = annotated(labels, nodes);
  std::ranges::reverse(nodes);
  labels.reset();
  EXPECT_TRUE(equal_images(annotated(labels, nodes), expected));
}

TEST(LabelAnnotator, KeepsALabelWhereItMovedForAWhile) {
  // Another track, whose label comes first, drives the label of track 2 away, and leaves.
  const DetectionNode blocker = tracked({100, 100, 160, 170}, 1);
  const DetectionNode node = tracked({100, 100, 160, 170}, 2);
  LabelAnnotator labels({.settled = milliseconds(500)});
  const cv::Rect usual = extent_of(annotated(labels, node, {.pts = milliseconds(0)}));
  annotated(labels, std::vector{blocker, node}, {.pts = milliseconds(100)});
  EXPECT_NE(extent_of(annotated(labels, node, {.pts = milliseconds(200)})), usual);
  EXPECT_EQ(extent_of(annotated(labels, node, {.pts = milliseconds(700)})), usual);
}

TEST(LabelAnnotator, ForgetsWhereLabelsWereAtADiscontinuity) {
  const DetectionNode blocker = tracked({100, 100, 160, 170}, 1);
  const DetectionNode node = tracked({100, 100, 160, 170}, 2);
  LabelAnnotator labels;
  const cv::Rect usual = extent_of(annotated(labels, node));
  annotated(labels, std::vector{blocker, node}, {.pts = milliseconds(100)});
  EXPECT_EQ(extent_of(annotated(labels, node,
                                {.pts = milliseconds(200), .discontinuity = Discontinuity::gap})),
            usual);
}

TEST(LabelAnnotator, CountsTheLabelsThatItLeavesOut) {
  std::vector<DetectionNode> nodes(400, box_node({0, 0, 320, 240}));
  LabelAnnotator labels;
  annotated(labels, nodes);
  EXPECT_GT(labels.left_out(), 0u);
  EXPECT_LT(labels.left_out(), 400u);
  annotated(labels, nodes[0]);
  EXPECT_EQ(labels.left_out(), 0u);
}

TEST(LabelAnnotator, DrawsALineToALabelThatIsAway) {
  std::vector<DetectionNode> nodes;
  for (int i = 0; i < 40; ++i) nodes.push_back(box_node({150, 110, 170, 130}));
  LabelAnnotator labels;
  const cv::Mat image = annotated(labels, nodes);
  cv::Mat found;
  cv::inRange(image(cv::Rect(150, 110, 20, 20)), test::kCanvasColor, test::kCanvasColor, found);
  EXPECT_LT(cv::countNonZero(found), 400);
}

TEST(LabelAnnotator, WritesMarkupAsItIs) {
  LabelAnnotator labels({.style = {.color_by = ColorBy::track}});
  DetectionNode markup = tracked({20, 80, 160, 170}, 1, "<b>%s\\n</b>");
  DetectionNode other = tracked({20, 80, 160, 170}, 1, "[b]%d//t[/b]");
  EXPECT_FALSE(equal_images(annotated(labels, markup), annotated(labels, other)));
  EXPECT_EQ(extent_of(annotated(labels, markup)).height,
            extent_of(annotated(labels, other)).height);
}

TEST(LabelAnnotator, DrawsOnlyTheNamesOfItsStyle) {
  LabelAnnotator labels({.style = {.names = {"face"}}});
  DetectionNode person = box_node({20, 80, 160, 170});
  EXPECT_TRUE(test::is_blank(annotated(labels, person)));
  person.children = {box_node({60, 90, 90, 120}, "face")};
  EXPECT_FALSE(test::is_blank(annotated(labels, person)));
}

}  // namespace
}  // namespace vcap
