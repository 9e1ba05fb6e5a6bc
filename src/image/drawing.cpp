// SPDX-License-Identifier: Apache-2.0
#include "image/drawing.hpp"

#include <cmath>

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "base/text.hpp"
#include "image/frame_check.hpp"
#include "vcap/base/error.hpp"
#include "vcap/image/stable_color.hpp"

namespace vcap {
namespace {

/// In pixels of the image.
constexpr double kFarOutside = 1e6;
/// At this scale, text is higher than most images; a larger scale is a mistake.
constexpr double kLargestScale = 100;

std::vector<cv::Point> far_pixels(const Coords& coords) {
  std::vector<cv::Point> points;
  points.reserve(coords.size());
  for (const cv::Point2d& point : coords) points.push_back(pixel(point));
  return points;
}

/// The part of the polygon on one side of a line: where `distance` is not negative.
template <class Distance>
std::vector<cv::Point2d> clipped(const std::vector<cv::Point2d>& polygon,
                                 const Distance& distance) {
  std::vector<cv::Point2d> result;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const cv::Point2d& a = polygon[i];
    const cv::Point2d& b = polygon[(i + 1) % polygon.size()];
    const double at_a = distance(a), at_b = distance(b);
    if (at_a >= 0) result.push_back(a);
    if ((at_a >= 0) != (at_b >= 0)) result.push_back(a + (b - a) * (at_a / (at_a - at_b)));
  }
  return result;
}

}  // namespace

void check_style(const AnnotatorStyle& style, std::string_view who) {
  if (!(style.scale >= 0 && style.scale <= kLargestScale))
    throw InvalidArgument(ErrorCode::invalid_argument,
                          std::string(who) + ": the scale " + number_text(style.scale) +
                              " is not within 0 (automatic) to " + number_text(kLargestScale));
}

void check_setting(double value, double low, double high, std::string_view who,
                   std::string_view setting) {
  if (value >= low && value <= high) return;
  throw InvalidArgument(ErrorCode::invalid_argument,
                        std::string(who) + ": " + std::string(setting) + " " + number_text(value) +
                            " is not within " + number_text(low) + " to " + number_text(high));
}

void check_canvas(const cv::Mat& image, std::string_view who) {
  check_frame(image, std::string(who));
  if (image.type() != CV_8UC3)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          std::string(who) + ": the image is of type " +
                              cv::typeToString(image.type()) +
                              ", not CV_8UC3 (8-bit BGR); convert it first");
}

double scale_for(const AnnotatorStyle& style, cv::Size image) {
  if (style.scale > 0) return style.scale;
  return std::clamp(std::min(image.width, image.height) / 480.0, 0.75, 4.0);
}

int line_width(double scale) { return std::max(1, static_cast<int>(std::lround(1.5 * scale))); }

int pixel(double x) { return static_cast<int>(std::clamp(x, -kFarOutside, kFarOutside)); }

cv::Point pixel(cv::Point2d point) {
  return {pixel(std::floor(point.x)), pixel(std::floor(point.y))};
}

cv::Rect pixels_of(const BoundingBox& box) {
  const cv::Point begin(pixel(std::floor(box.x1)), pixel(std::floor(box.y1)));
  const cv::Point end(pixel(std::ceil(box.x2)), pixel(std::ceil(box.y2)));
  return {begin, cv::Point(std::max(end.x, begin.x + 1), std::max(end.y, begin.y + 1))};
}

cv::Rect region_of(const BoundingBox& box, double margin, cv::Size image) {
  // A box may be so large that its width is not finite.
  const double x = margin * std::min(box.width(), kFarOutside);
  const double y = margin * std::min(box.height(), kFarOutside);
  return pixels_of(BoundingBox{box.x1 - x, box.y1 - y, box.x2 + x, box.y2 + y}) &
         cv::Rect({}, image);
}

std::vector<cv::Rect> outer_regions(std::vector<cv::Rect> regions) {
  std::ranges::stable_sort(
      regions, [](const cv::Rect& a, const cv::Rect& b) { return a.area() > b.area(); });
  std::vector<cv::Rect> outer;
  for (const cv::Rect& region : regions)
    if (std::ranges::none_of(
            outer, [&region](const cv::Rect& larger) { return (larger & region) == region; }))
      outer.push_back(region);
  return outer;
}

void draw_line(cv::Mat& image, cv::Point2d from, cv::Point2d to, const cv::Scalar& color,
               int width) {
  const cv::Rect around(-width, -width, image.cols + 2 * width, image.rows + 2 * width);
  cv::Point begin = pixel(from), end = pixel(to);
  if (cv::clipLine(around, begin, end)) cv::line(image, begin, end, color, width, cv::LINE_AA);
}

void draw_outline(cv::Mat& image, const Coords& coords, const cv::Scalar& color, int width) {
  for (std::size_t i = 0; i < coords.size(); ++i)
    draw_line(image, coords[i], coords[(i + 1) % coords.size()], color, width);
}

void fill_polygon(cv::Mat& image, const Coords& coords, const cv::Scalar& color) {
  std::vector<cv::Point2d> polygon;
  for (const cv::Point& point : far_pixels(coords)) polygon.emplace_back(point);
  // A pixel beyond each edge, so that the polygon's own border is not seen there.
  polygon = clipped(polygon, [](const cv::Point2d& at) { return at.x + 1; });
  polygon = clipped(polygon, [](const cv::Point2d& at) { return at.y + 1; });
  polygon = clipped(polygon, [&image](const cv::Point2d& at) { return image.cols - at.x; });
  polygon = clipped(polygon, [&image](const cv::Point2d& at) { return image.rows - at.y; });
  if (polygon.empty()) return;
  std::vector<cv::Point> points;
  points.reserve(polygon.size());
  for (const cv::Point2d& point : polygon)
    points.emplace_back(static_cast<int>(std::lround(point.x)),
                        static_cast<int>(std::lround(point.y)));
  cv::fillPoly(image, points, color);
}

bool is_drawable(const DetectionNode& node) {
  return !node.coords.empty() && std::ranges::all_of(node.coords, [](const cv::Point2d& point) {
    return std::isfinite(point.x) && std::isfinite(point.y);
  });
}

bool is_upright_box(const Coords& coords, const BoundingBox& box) {
  return coords.size() == 4 && std::ranges::all_of(coords, [&box](const cv::Point2d& point) {
           return (point.x == box.x1 || point.x == box.x2) &&
                  (point.y == box.y1 || point.y == box.y2);
         });
}

cv::Scalar color_of(const DetectionNode& node, ColorBy by) {
  const bool by_track = by == ColorBy::track && node.track_id;
  return stable_color(by_track ? node.track_id->to_string() : node.name);
}

cv::Point2d anchor_of(const BoundingBox& box, NodeAnchor anchor) {
  // Halves first: the sum of two large coordinates may not be finite.
  return {box.x1 / 2 + box.x2 / 2, anchor == NodeAnchor::bottom ? box.y2 : box.y1 / 2 + box.y2 / 2};
}

void mix(cv::Mat& image, const cv::Mat& layer, double opacity) {
  cv::addWeighted(layer, opacity, image, 1 - opacity, 0, image);
}

}  // namespace vcap
