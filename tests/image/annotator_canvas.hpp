// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <utility>

#include <opencv2/core.hpp>

#include "vcap/image/annotator.hpp"

namespace vcap::test {

inline const cv::Scalar kCanvasColor(90, 90, 90);

inline DetectionNode box_node(const BoundingBox& box, std::string name = "person") {
  return {.name = std::move(name), .coords = rect_to_coords(box)};
}

inline cv::Mat canvas(cv::Size size = {320, 240}) { return {size, CV_8UC3, kCanvasColor}; }

inline cv::Mat annotated(Annotator& annotator, std::span<const DetectionNode> nodes,
                         const Frame& frame = {}, cv::Size size = {320, 240}) {
  cv::Mat image = canvas(size);
  annotator.annotate(image, nodes, frame);
  return image;
}

inline cv::Mat annotated(Annotator& annotator, const DetectionNode& node, const Frame& frame = {}) {
  return annotated(annotator, std::span(&node, 1), frame);
}

inline cv::Scalar color_at(const cv::Mat& image, int x, int y) {
  const auto value = image.at<cv::Vec3b>(y, x);
  return {double(value[0]), double(value[1]), double(value[2])};
}

/// 255 at each pixel that was drawn.
inline cv::Mat drawn_mask(const cv::Mat& image, const cv::Scalar& background = kCanvasColor) {
  cv::Mat same;
  cv::inRange(image, background, background, same);
  return ~same;
}

inline bool is_blank(const cv::Mat& image) { return cv::countNonZero(drawn_mask(image)) == 0; }

inline bool equal_images(const cv::Mat& a, const cv::Mat& b) {
  return a.size() == b.size() && cv::norm(a, b, cv::NORM_INF) == 0;
}

/// The distance of two colours, in the channel in which it is the greatest.
inline double color_distance(const cv::Scalar& a, const cv::Scalar& b) {
  return cv::norm(a - b, cv::NORM_INF);
}

inline Uuid track(int number) {
  std::string text = "00000000-0000-4000-8000-000000000000";
  const std::string digits = std::to_string(number);
  return Uuid::parse(text.replace(8 - digits.size(), digits.size(), digits));
}

}  // namespace vcap::test
