// SPDX-License-Identifier: Apache-2.0
// What docs/coming-from-python.md says about differences from Python's vcap.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "vcap/algorithms/non_max_suppression.hpp"
#include "vcap/model/detection_node.hpp"
#include "vcap/model/node_description.hpp"

namespace vcap {
namespace {

using testing::ElementsAre;

TEST(ComingFromPython, OffsetAddsAndScaleDoesNotRound) {
  // [offset]
  vcap::DetectionNode face{.name = "face",
                           .coords = vcap::rect_to_coords(cv::Rect2d(2, 3, 10, 10))};
  face.offset(100, 50);  // found on a crop at x 100, y 50: now at x 102, y 53 of the frame
  face.scale(0.5, 0.5);  // at x 51, y 26.5: not rounded
  // [/offset]
  EXPECT_EQ(face.bbox(), (BoundingBox{51, 26.5, 56, 31.5}));
}

// [own-area]
double covered(const vcap::BoundingBox& candidate, const vcap::BoundingBox& better) {
  const double width = std::min(candidate.x2, better.x2) - std::max(candidate.x1, better.x1);
  const double height = std::min(candidate.y2, better.y2) - std::max(candidate.y1, better.y1);
  return std::max(0.0, width) * std::max(0.0, height) / candidate.area();
}
// [/own-area]

TEST(ComingFromPython, SuppressionIsByIntersectionOverUnion) {
  // [suppression]
  const std::vector<vcap::BoundingBox> boxes{{0, 0, 100, 100}, {10, 10, 30, 30}};
  const std::vector<double> scores{0.9, 0.8};
  // The small box lies within the large one, but has only a 25th of its area.
  const std::vector<std::size_t> kept = vcap::non_max_suppression(boxes, scores, 0.5);  // 0, 1
  // [/suppression]
  EXPECT_THAT(kept, ElementsAre(0, 1));
  EXPECT_EQ(covered(boxes[1], boxes[0]), 1.0) << "Python's vcap would drop it";
  EXPECT_EQ(covered(boxes[0], boxes[1]), 0.04);
  EXPECT_EQ(covered({200, 0, 210, 10}, boxes[0]), 0.0);
}

TEST(ComingFromPython, RectanglesHaveWidthAndHeight) {
  EXPECT_EQ(rect_to_coords(cv::Rect2d(1, 2, 10, 20)), rect_to_coords(BoundingBox{1, 2, 11, 22}));
}

TEST(ComingFromPython, TheCapabilityIsWhatTheOutputHasMore) {
  const NodeDescription input{.size = NodeDescription::Size::single,
                              .detections = {"person"},
                              .attributes = {{"color", {"red"}}}};
  const NodeDescription output{.size = NodeDescription::Size::single,
                               .detections = {"person"},
                               .attributes = {{"color", {"red", "blue"}}}};
  const NodeDescription capability = output.difference(input);
  EXPECT_TRUE(capability.detections.empty());
  EXPECT_THAT(capability.attributes.at("color"), ElementsAre("blue"));
}

}  // namespace
}  // namespace vcap
