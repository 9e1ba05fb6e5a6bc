// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/crop_nodes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <limits>

#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>

#include "support/throws_error.hpp"
#include "vcap/model/frame.hpp"

namespace vcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

DetectionNode node_in(const cv::Rect2d& rect) {
  return {.name = "leaf", .coords = rect_to_coords(rect)};
}

TEST(CropNodes, CutsOutEachNode) {
  const cv::Mat frame(80, 100, CV_8UC3, cv::Scalar(1, 2, 3));
  const NodeCrops crops = crop_nodes(
      frame, DetectionNodes::all({node_in({10, 20, 30, 40}), node_in({-5, -5, 10, 10})}));
  ASSERT_EQ(crops.images.size(), 2u);
  EXPECT_EQ(crops.images[0].size(), cv::Size(30, 40));
  EXPECT_EQ(crops.images[0].data, frame.ptr(20, 10)) << "a view, not a copy";
  EXPECT_EQ(crops.images[1].size(), cv::Size(5, 5)) << "cut to the frame";
  EXPECT_THAT(crops.places, ElementsAre(0u, 1u));
  EXPECT_EQ(crops.skipped, 0u);
}

TEST(CropNodes, SkipsAndCountsNodesWithoutAPicture) {
  const cv::Mat frame(80, 100, CV_8UC3, cv::Scalar(1, 2, 3));
  DetectionNode broken = node_in({10, 10, 10, 10});
  broken.coords[1].x = std::numeric_limits<double>::quiet_NaN();
  DetectionNode endless = node_in({10, 10, 10, 10});
  endless.coords[1].x = std::numeric_limits<double>::infinity();
  const NodeCrops crops = crop_nodes(frame, DetectionNodes::all({{.name = "without coords"},
                                                                 node_in({10, 20, 30, 40}),
                                                                 node_in({500, 20, 30, 40}),
                                                                 node_in({10, 20, 0, 40}),
                                                                 broken,
                                                                 endless,
                                                                 node_in({1, 2, 3, 4})}));
  EXPECT_THAT(crops.places, ElementsAre(1u, 6u));
  ASSERT_EQ(crops.images.size(), 2u);
  EXPECT_EQ(crops.images[1].size(), cv::Size(3, 4));
  EXPECT_EQ(crops.skipped, 5u);
}

TEST(CropNodes, IsUsedAsInTheDocumentation) {
  const Frame frame{.image = cv::Mat(80, 100, CV_8UC3, cv::Scalar::all(8))};
  DetectionNodes nodes = DetectionNodes::all({node_in({500, 20, 30, 40}), node_in({1, 2, 3, 4})});
  testing::internal::CaptureStderr();
  // [crops]
  const vcap::NodeCrops crops = vcap::crop_nodes(frame.image, nodes);
  for (std::size_t i = 0; i < crops.images.size(); ++i)
    nodes[crops.places[i]].extra_data["brightness"] = cv::mean(crops.images[i])[0];
  if (crops.skipped > 0) std::cerr << crops.skipped << " nodes are outside the frame\n";
  // [/crops]
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "1 nodes are outside the frame\n");
  EXPECT_EQ(nodes[1].extra_data.at("brightness"), 8);
}

TEST(CropNodes, PadsAsTheCallerSays) {
  const cv::Mat frame(80, 100, CV_8UC3, cv::Scalar(1, 2, 3));
  const NodeCrops crops = crop_nodes(
      frame, DetectionNodes::all({node_in({20, 20, 10, 30}), {.name = "without coords"}}),
      [](const DetectionNode& node) { return Crop::from_node(node).pad_to_square(); });
  ASSERT_EQ(crops.images.size(), 1u);
  EXPECT_EQ(crops.images[0].size(), cv::Size(30, 30));
  EXPECT_EQ(crops.skipped, 1u);
}

TEST(CropNodes, TakesASingleNodeAndNone) {
  const cv::Mat frame(80, 100, CV_8UC3, cv::Scalar(1, 2, 3));
  EXPECT_EQ(crop_nodes(frame, DetectionNodes::single(node_in({1, 2, 3, 4}))).images.size(), 1u);
  EXPECT_THAT(crop_nodes(frame, DetectionNodes::none()).images, IsEmpty());
}

TEST(CropNodes, RefusesAFrameWithoutPixels) {
  EXPECT_THAT([] { crop_nodes(cv::Mat(), DetectionNodes::all()); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("crop_nodes: the frame has no pixels")));
}

TEST(Crop, GivesNothingInsteadOfAnErrorIfAsked) {
  const cv::Mat frame(80, 100, CV_8UC3, cv::Scalar(1, 2, 3));
  EXPECT_FALSE(Crop::from_box({200, 0, 210, 10}).try_apply(frame));
  EXPECT_FALSE(Crop::from_box({5, 5, 5, 10}).try_apply(frame));
  EXPECT_EQ(Crop::from_box({5, 5, 15, 10}).try_apply(frame)->size(), cv::Size(10, 5));
}

}  // namespace
}  // namespace vcap
