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

cv::Scalar color_of_zone(const DrawnZone& zone) {
  return zone.color ? *zone.color : stable_color(zone.name);
}

void check_zone(const DrawnZone& zone) {
  const std::string which = "ZoneAnnotator: zone " + quote(zone.name);
  if (zone.outline.size() < 3)
    throw InvalidArgument(
        ErrorCode::invalid_argument,
        which + " has " + counted(zone.outline.size(), "point") + "; give at least 3");
  for (const cv::Point2d& point : zone.outline)
    if (!std::isfinite(point.x) || !std::isfinite(point.y))
      throw InvalidArgument(ErrorCode::invalid_argument,
                            which + " has a coordinate that is not finite; give pixels");
}

/// The name and the count above the zone's highest point, moved into the image.
void write_zone_title(cv::Mat& image, const DrawnZone& zone, const std::string& title,
                      const TextStyle& text) {
  const std::string line = text.fitted(shown_text(title), image.cols);
  if (line.empty() || text.line_height() > image.rows) return;
  const cv::Rect box = pixels_of(BoundingBox::around(zone.outline));
  if ((box & cv::Rect({}, image.size())).empty()) return;
  const std::vector<std::string> lines{line};
  const cv::Size size = text.size(lines);
  const cv::Point at(std::clamp(box.x, 0, image.cols - size.width),
                     std::clamp(box.y, 0, image.rows - size.height));
  text.draw(image, {at, size}, lines, color_of_zone(zone));
}

}  // namespace

ZoneAnnotator::ZoneAnnotator(ZoneSettings settings) : settings_(std::move(settings)) {
  check_style(settings_.style, "ZoneAnnotator");
  check_setting(settings_.opacity, 0, 1, "ZoneAnnotator", "the opacity");
  for (const DrawnZone& zone : settings_.zones) check_zone(zone);
}

ZoneAnnotator::~ZoneAnnotator() = default;

void ZoneAnnotator::draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame&) {
  const double scale = scale_for(settings_.style, image.size());
  const TextStyle text(scale);
  std::vector<cv::Point2f> anchors;
  if (settings_.counts)
    visit(nodes, settings_.style, [&](const DetectionNode& node) {
      anchors.emplace_back(anchor_of(node.bbox(), settings_.anchor));
    });
  cv::Mat layer = image.clone();
  for (const DrawnZone& zone : settings_.zones)
    fill_polygon(layer, zone.outline, color_of_zone(zone));
  mix(image, layer, settings_.opacity);
  for (const DrawnZone& zone : settings_.zones) {
    draw_outline(image, zone.outline, color_of_zone(zone), line_width(scale));
    const std::vector<cv::Point2f> outline(zone.outline.begin(), zone.outline.end());
    const auto within = std::ranges::count_if(anchors, [&outline](const cv::Point2f& anchor) {
      return cv::pointPolygonTest(outline, anchor, false) >= 0;
    });
    std::string title = zone.name;
    if (settings_.counts && !title.empty()) title += ' ';
    if (settings_.counts) title += std::to_string(within);
    write_zone_title(image, zone, title, text);
  }
}

}  // namespace vcap
