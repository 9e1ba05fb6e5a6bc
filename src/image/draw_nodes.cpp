// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/draw_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <opencv2/imgproc.hpp>

#include "base/text.hpp"
#include "image/frame_check.hpp"
#include "image/label.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// Coordinates are clamped to this distance from the image: far beyond any image, and within the
/// range of OpenCV's fixed-point numbers for drawing.
constexpr double kFarOutside = 1e6;

/// At this scale, text is higher than most images; a larger scale is a mistake.
constexpr double kLargestScale = 100;

int pixel(double x) { return static_cast<int>(std::clamp(x, -kFarOutside, kFarOutside)); }

bool is_drawable(const DetectionNode& node) {
  return !node.coords.empty() && std::ranges::all_of(node.coords, [](const cv::Point2d& point) {
    return std::isfinite(point.x) && std::isfinite(point.y);
  });
}

/// The pixels that the box touches, at least one.
cv::Rect pixels_of(const BoundingBox& box) {
  const cv::Point begin(pixel(std::floor(box.x1)), pixel(std::floor(box.y1)));
  const cv::Point end(pixel(std::ceil(box.x2)), pixel(std::ceil(box.y2)));
  return {begin, cv::Point(std::max(end.x, begin.x + 1), std::max(end.y, begin.y + 1))};
}

bool is_outline_of(const Coords& coords, const BoundingBox& box) {
  return coords.size() == 4 && std::ranges::all_of(coords, [&box](const cv::Point2d& point) {
           return (point.x == box.x1 || point.x == box.x2) &&
                  (point.y == box.y1 || point.y == box.y2);
         });
}

std::vector<cv::Point> pixels_of(const Coords& coords) {
  std::vector<cv::Point> points;
  points.reserve(coords.size());
  for (const cv::Point2d& point : coords)
    points.emplace_back(pixel(std::floor(point.x)), pixel(std::floor(point.y)));
  return points;
}

cv::Scalar color_of(const DetectionNode& node, DrawOptions::ColorBy by) {
  const bool by_track = by == DrawOptions::ColorBy::track && node.track_id;
  return stable_color(by_track ? node.track_id->to_string() : node.name);
}

double automatic_scale(cv::Size size) {
  return std::clamp(std::min(size.width, size.height) / 480.0, 0.75, 4.0);
}

void draw_outline(cv::Mat& image, const DetectionNode& node, const DrawOptions& options,
                  double scale) {
  const cv::Scalar color = color_of(node, options.color_by);
  const int thickness = std::max(1, static_cast<int>(std::lround(1.5 * scale)));
  const BoundingBox box = node.bbox();
  if (options.boxes) cv::rectangle(image, pixels_of(box), color, thickness);
  if (options.polygons && !(options.boxes && is_outline_of(node.coords, box)))
    cv::polylines(image, pixels_of(node.coords), true, color, thickness, cv::LINE_AA);
}

/// Visits the node and, if `children` is set, all nodes below it.
template <class Action>
void visit(const DetectionNode& node, bool children, const Action& action) {
  if (is_drawable(node)) action(node);
  if (!children) return;
  for (const DetectionNode& child : node.children) visit(child, children, action);
}

}  // namespace

cv::Scalar stable_color(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;

  // Any hue, converted from HSV to BGR with whole numbers, so that all machines round alike. Two
  // levels each of saturation and brightness distinguish colours of similar hue.
  const int hue = static_cast<int>(hash % 360);
  const int saturation = (hash >> 40) % 2 == 0 ? 90 : 60;
  const int value = (hash >> 41) % 2 == 0 ? 255 : 210;
  const int part = hue % 60;
  const int low = value * (100 - saturation) / 100;
  const int falling = value * (6000 - saturation * part) / 6000;
  const int rising = value * (6000 - saturation * (60 - part)) / 6000;
  switch (hue / 60) {
    case 0:
      return cv::Scalar(low, rising, value);
    case 1:
      return cv::Scalar(low, value, falling);
    case 2:
      return cv::Scalar(rising, value, low);
    case 3:
      return cv::Scalar(value, falling, low);
    case 4:
      return cv::Scalar(value, low, rising);
    default:
      return cv::Scalar(falling, low, value);
  }
}

void draw_nodes(cv::Mat& image, const DetectionNodes& nodes, const DrawOptions& options) {
  check_frame(image, "draw_nodes");
  if (image.type() != CV_8UC3)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "draw_nodes: the image is of type " + cv::typeToString(image.type()) +
                              ", not CV_8UC3 (8-bit BGR); convert it first");
  if (!(options.scale >= 0 && options.scale <= kLargestScale))
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "draw_nodes: the scale " + number_text(options.scale) +
                              " is not within 0 (automatic) to " + number_text(kLargestScale));
  const double scale = options.scale > 0 ? options.scale : automatic_scale(image.size());

  // All outlines first, so that no outline crosses a label.
  for (const DetectionNode& node : nodes)
    visit(node, options.children,
          [&](const DetectionNode& visited) { draw_outline(image, visited, options, scale); });
  for (const DetectionNode& node : nodes)
    visit(node, options.children, [&](const DetectionNode& visited) {
      draw_label(image, label_lines(visited, options), pixels_of(visited.bbox()),
                 color_of(visited, options.color_by), scale);
    });
}

}  // namespace vcap
