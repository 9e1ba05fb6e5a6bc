// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/zone_annotator.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <opencv2/imgproc.hpp>

#include "base/text.hpp"
#include "image/drawing.hpp"
#include "image/text_patch.hpp"
#include "vcap/base/error.hpp"
#include "vcap/image/stable_color.hpp"

namespace vcap {
namespace {

/// Of a zone or a line.
template <class Drawn>
cv::Scalar color_of(const Drawn& drawn) {
  return drawn.color ? *drawn.color : stable_color(drawn.name);
}

[[noreturn]] void refuse_drawn(const std::string& which, const std::string& why) {
  throw InvalidArgument(ErrorCode::invalid_argument, "ZoneAnnotator: " + which + why);
}

void check_finite(const cv::Point2d& point, const std::string& which) {
  if (!std::isfinite(point.x) || !std::isfinite(point.y))
    refuse_drawn(which,
                 " has a coordinate that is not finite; give pixels, or shares of the frame");
}

void check_zone(const DrawnZone& zone) {
  const std::string which = "zone " + quote(zone.name);
  if (zone.outline.size() < 3)
    refuse_drawn(which, " has " + counted(zone.outline.size(), "point") + "; give at least 3");
  for (const cv::Point2d& point : zone.outline) check_finite(point, which);
}

void check_line(const DrawnLine& line) {
  const std::string which = "line " + quote(line.name);
  check_finite(line.from, which);
  check_finite(line.to, which);
  if (line.from == line.to) refuse_drawn(which, " has one point as both ends; give two points");
}

/// Writes the title in a patch whose upper left corner is there, or as near as the image allows.
void write_title(cv::Mat& image, cv::Point at, const std::string& title, const TextStyle& text,
                 const cv::Scalar& color) {
  const std::string line = text.fitted(shown_text(title), image.cols);
  if (line.empty() || text.line_height() > image.rows) return;
  const std::vector<std::string> lines{line};
  const cv::Size size = text.size(lines);
  const cv::Point corner(std::clamp(at.x, 0, image.cols - size.width),
                         std::clamp(at.y, 0, image.rows - size.height));
  text.draw(image, {corner, size}, lines, color);
}

/// From the line's middle to its right side.
void draw_arrow(cv::Mat& image, const DrawnLine& line, double scale, int width) {
  const cv::Point2d from = pixel(line.from), to = pixel(line.to);
  const cv::Point2d along = to - from;
  const double length = std::hypot(along.x, along.y);
  const double reach = std::min(16 * scale, length);
  if (reach < 1) return;
  const cv::Point2d right(-along.y / length, along.x / length);
  const cv::Point2d middle = (from + to) / 2, tip = middle + right * reach;
  const cv::Point2d back = tip - right * (reach / 2), side = along * (reach / 3 / length);
  for (const auto& [a, b] :
       {std::pair(middle, tip), std::pair(tip, back + side), std::pair(tip, back - side)})
    draw_line(image, a, b, color_of(line), width);
}

void draw_fixed_line(cv::Mat& image, const DrawnLine& line, double scale) {
  const int width = line_width(scale);
  draw_line(image, line.from, line.to, color_of(line), width);
  if (line.arrow) draw_arrow(image, line, scale, width);
  cv::Point begin = pixel(line.from), end = pixel(line.to);
  if (cv::clipLine(image.size(), begin, end))
    write_title(image, begin, line.name, TextStyle(scale), color_of(line));
}

cv::Point2d scaled(cv::Point2d point, cv::Size2d scale) {
  return {point.x * scale.width, point.y * scale.height};
}

/// Fills all before anything else is drawn, so that no outline or title is under a filling.
void fill_zones(cv::Mat& image, const std::vector<DrawnZone>& zones, double opacity) {
  if (zones.empty()) return;
  cv::Mat layer = image.clone();
  for (const DrawnZone& zone : zones) fill_polygon(layer, zone.outline, color_of(zone));
  mix(image, layer, opacity);
}

std::string title_of(const DrawnZone& zone, const std::vector<cv::Point2f>& anchors) {
  const std::vector<cv::Point2f> outline(zone.outline.begin(), zone.outline.end());
  const auto within = std::ranges::count_if(anchors, [&outline](const cv::Point2f& anchor) {
    return cv::pointPolygonTest(outline, anchor, false) >= 0;
  });
  return zone.name + (zone.name.empty() ? "" : " ") + std::to_string(within);
}

void draw_zone(cv::Mat& image, const DrawnZone& zone, const std::string& title, double scale) {
  draw_outline(image, zone.outline, color_of(zone), line_width(scale));
  const cv::Rect box = pixels_of(BoundingBox::around(zone.outline));
  if (!(box & cv::Rect({}, image.size())).empty())
    write_title(image, box.tl(), title, TextStyle(scale), color_of(zone));
}

}  // namespace

ZoneAnnotator::ZoneAnnotator(ZoneSettings settings) : settings_(std::move(settings)) {
  check_style(settings_.style, "ZoneAnnotator");
  check_setting(settings_.opacity, 0, 1, "ZoneAnnotator", "the opacity");
  for (const DrawnZone& zone : settings_.zones) check_zone(zone);
  for (const DrawnLine& line : settings_.lines) check_line(line);
}

ZoneAnnotator::~ZoneAnnotator() = default;

void ZoneAnnotator::draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame&) {
  const double scale = scale_for(settings_.style, image.size());
  const cv::Size2d unit = settings_.relative ? cv::Size2d(image.size()) : cv::Size2d(1, 1);
  std::vector<DrawnZone> zones = settings_.zones;
  for (DrawnZone& zone : zones)
    for (cv::Point2d& point : zone.outline) point = scaled(point, unit);
  std::vector<cv::Point2f> anchors;
  if (settings_.counts)
    visit(nodes, settings_.style, [&](const DetectionNode& node) {
      anchors.emplace_back(anchor_of(node.bbox(), settings_.anchor));
    });
  fill_zones(image, zones, settings_.opacity);
  for (const DrawnZone& zone : zones)
    draw_zone(image, zone, settings_.counts ? title_of(zone, anchors) : zone.name, scale);
  for (DrawnLine line : settings_.lines) {
    line.from = scaled(line.from, unit);
    line.to = scaled(line.to, unit);
    draw_fixed_line(image, line, scale);
  }
}

}  // namespace vcap
