// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/box_annotator.hpp"

#include <algorithm>
#include <utility>

#include <opencv2/imgproc.hpp>

#include "image/drawing.hpp"

namespace vcap {
namespace {

/// How a line is drawn.
struct Pen {
  cv::Scalar color;
  int width;
};

/// The corner at which both sides of a box begin, and the direction of the sides from there.
struct BoxCorner {
  cv::Point at;
  int x, y;
};

std::vector<BoxCorner> corners_of(const cv::Rect& box) {
  const int right = box.x + box.width - 1, bottom = box.y + box.height - 1;
  return {{{box.x, box.y}, 1, 1},
          {{right, box.y}, -1, 1},
          {{right, bottom}, -1, -1},
          {{box.x, bottom}, 1, -1}};
}

/// A quarter of the shorter side at most, so that a straight part remains between the corners.
int corner_length(const cv::Rect& box, double scale, double wanted) {
  return std::min({static_cast<int>(wanted * scale), box.width / 4, box.height / 4});
}

void draw_rounded(cv::Mat& image, const cv::Rect& box, const Pen& pen, double scale) {
  const int radius = corner_length(box, scale, 14);
  if (radius < 2) return cv::rectangle(image, box, pen.color, pen.width);
  const std::vector<BoxCorner> corners = corners_of(box);
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const BoxCorner& corner = corners[i];
    const BoxCorner& next = corners[(i + 1) % corners.size()];
    const cv::Point along(i % 2 == 0 ? corner.x * radius : 0, i % 2 == 0 ? 0 : corner.y * radius);
    cv::line(image, corner.at + along, next.at - along, pen.color, pen.width);
    const cv::Point centre = corner.at + cv::Point(corner.x * radius, corner.y * radius);
    const double from = 180.0 + 90.0 * static_cast<double>(i);
    cv::ellipse(image, centre, {radius, radius}, 0, from, from + 90, pen.color, pen.width,
                cv::LINE_AA);
  }
}

void draw_corners(cv::Mat& image, const cv::Rect& box, const Pen& pen, double scale) {
  const int length = std::max(1, corner_length(box, scale, 24));
  for (const BoxCorner& corner : corners_of(box)) {
    cv::line(image, corner.at, corner.at + cv::Point(corner.x * length, 0), pen.color, pen.width);
    cv::line(image, corner.at, corner.at + cv::Point(0, corner.y * length), pen.color, pen.width);
  }
}

}  // namespace

BoxAnnotator::BoxAnnotator(BoxSettings settings) : settings_(std::move(settings)) {
  check_style(settings_.style, "BoxAnnotator");
}

BoxAnnotator::~BoxAnnotator() = default;

void BoxAnnotator::draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame&) {
  const double scale = scale_for(settings_.style, image.size());
  visit(nodes, settings_.style, [&](const DetectionNode& node) {
    const Pen pen{color_of(node, settings_.style.color_by), line_width(scale)};
    const cv::Rect box = pixels_of(node.bbox());
    switch (settings_.shape) {
      case BoxSettings::Shape::rectangle:
        return cv::rectangle(image, box, pen.color, pen.width);
      case BoxSettings::Shape::rounded:
        return draw_rounded(image, box, pen, scale);
      case BoxSettings::Shape::corners:
        return draw_corners(image, box, pen, scale);
    }
  });
}

}  // namespace vcap
