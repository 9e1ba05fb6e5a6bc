// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/clamp.hpp"

#include <random>

#include <gtest/gtest.h>
#include <opencv2/core.hpp>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

cv::Mat frame(int width, int height) { return {height, width, CV_8UC3, cv::Scalar(9, 8, 7)}; }

DetectionNode node(Coords coords, std::vector<DetectionNode> children = {}) {
  return {.name = "thing", .coords = std::move(coords), .children = std::move(children)};
}

TEST(Clamp, ScalesALargeFrameDownToTheTighterBound) {
  EXPECT_EQ(Clamp(frame(200, 100), 100, 100).image().size(), cv::Size(100, 50));
  EXPECT_EQ(Clamp(frame(200, 100), 200, 25).image().size(), cv::Size(50, 25));
  EXPECT_EQ(Clamp(frame(100, 200), 80, 50).image().size(), cv::Size(25, 50));
}

TEST(Clamp, NeverExceedsABoundAndKeepsTheAspectToAPixel) {
  std::mt19937 engine(5);
  std::uniform_int_distribution<int> side(1, 400), bound(1, 300);
  for (int i = 0; i < 300; ++i) {
    const cv::Mat image = frame(side(engine), side(engine));
    const cv::Size max(bound(engine), bound(engine));
    const cv::Size size = Clamp(image, max.width, max.height).image().size();
    SCOPED_TRACE(testing::Message() << image.size() << " to " << max << " gave " << size);
    EXPECT_LE(size.width, max.width);
    EXPECT_LE(size.height, max.height);
    const double factor =
        std::min({1.0, double(max.width) / image.cols, double(max.height) / image.rows});
    EXPECT_LE(std::abs(size.width - std::max(1.0, image.cols * factor)), 0.5 + 1e-9);
    EXPECT_LE(std::abs(size.height - std::max(1.0, image.rows * factor)), 0.5 + 1e-9);
  }
}

TEST(Clamp, SharesThePixelsOfAFrameThatFits) {
  const cv::Mat image = frame(200, 100);
  const Clamp clamp(image, 200, 100);
  EXPECT_EQ(clamp.image().data, image.data);
  EXPECT_EQ(clamp.image().size(), image.size());
  const DetectionNodes nodes = DetectionNodes::all({node({{1.25, 2.5}})});
  EXPECT_EQ(clamp.scale_nodes(nodes), nodes);
}

TEST(Clamp, LeavesThePixelsOfALargeFrameAlone) {
  const cv::Mat image = frame(200, 100), before = image.clone();
  Clamp(image, 50, 50).image().setTo(0);
  EXPECT_EQ(cv::norm(image, before, cv::NORM_INF), 0);
}

TEST(Clamp, MapsNodesAndTheirChildrenBackToTheFrame) {
  const Clamp clamp(frame(300, 200), 100, 100);  // 100×67: the factors differ
  ASSERT_EQ(clamp.image().size(), cv::Size(100, 67));
  const DetectionNodes nodes = clamp.scale_nodes(
      DetectionNodes::all({node({{0, 0}, {100, 67}}, {node({{50, 33.5}})}), node({{10, 67}})}));
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].bbox(), (BoundingBox{0, 0, 300, 200}));
  EXPECT_EQ(nodes[0].children[0].coords, (Coords{{150, 100}}));
  EXPECT_EQ(nodes[1].coords, (Coords{{30, 200}}));
}

TEST(Clamp, KeepsTheKindOfNodes) {
  const Clamp clamp(frame(200, 100), 100, 100);
  EXPECT_EQ(clamp.scale_nodes(DetectionNodes::none()), DetectionNodes::none());
  EXPECT_EQ(clamp.scale_nodes(DetectionNodes::single(node({{5, 6}}))),
            DetectionNodes::single(node({{10, 12}})));
}

TEST(Clamp, RefusesAnEmptyFrameAndBoundsThatAreNotPositive) {
  EXPECT_THROW(Clamp(cv::Mat(), 10, 10), InvalidArgument);
  EXPECT_THROW(Clamp(frame(5, 5), 0, 10), InvalidArgument);
  EXPECT_THROW(Clamp(frame(5, 5), 10, -1), InvalidArgument);
}

}  // namespace
}  // namespace vcap
