// SPDX-License-Identifier: Apache-2.0
#include "algorithms/event_geometry.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "algorithms/orientation.hpp"

namespace vcap {
namespace {

Coords scaled(Coords polygon, cv::Size2d scale) {
  for (cv::Point2d& point : polygon) point = {point.x * scale.width, point.y * scale.height};
  return polygon;
}

/// Whether a point on the endless line is between its two ends.
bool is_between(cv::Point2d a, cv::Point2d b, cv::Point2d point) noexcept {
  return std::min(a.x, b.x) <= point.x && point.x <= std::max(a.x, b.x) &&
         std::min(a.y, b.y) <= point.y && point.y <= std::max(a.y, b.y);
}

double squared_distance(cv::Point2d a, cv::Point2d b, cv::Point2d point) noexcept {
  const cv::Point2d way = b - a;
  const double length = way.dot(way);
  const double share = length > 0 ? std::clamp((point - a).dot(way) / length, 0.0, 1.0) : 0;
  const cv::Point2d apart = point - (a + way * share);
  return apart.dot(apart);
}

/// A number of a cell, from 0 to cells - 1; places outside belong to the outer cells.
int clamped_cell(double place, int size, int cells) noexcept {
  return static_cast<int>(std::clamp(place * cells / size, 0.0, cells - 1.0));
}

}  // namespace

cv::Point2d point_of(const BoundingBox& box, BoxPoint point) noexcept {
  const cv::Point2d centre = box.centre();
  switch (point) {
    case BoxPoint::bottom_centre:
      return {centre.x, box.y2};
    case BoxPoint::centre:
      return centre;
    case BoxPoint::top_centre:
      return {centre.x, box.y1};
    case BoxPoint::bottom_left:
      return {box.x1, box.y2};
    case BoxPoint::bottom_right:
      return {box.x2, box.y2};
    case BoxPoint::top_left:
      return {box.x1, box.y1};
    case BoxPoint::top_right:
      return {box.x2, box.y1};
  }
  return centre;
}

ZoneShape::ZoneShape(const EventZone& zone, cv::Size2d scale)
    : polygon_(scaled(zone.polygon, scale)),
      bounds_(BoundingBox::around(polygon_)),
      point_(zone.point),
      hysteresis_(zone.hysteresis) {}

bool ZoneShape::contains(cv::Point2d point) const noexcept {
  if (point.x < bounds_.x1 || point.x > bounds_.x2 || point.y < bounds_.y1 || point.y > bounds_.y2)
    return false;
  // A ray to the right: it leaves the zone where it meets an odd number of sides. A side has its
  // upper end and not its lower one, so that a corner is met once.
  bool inside = false;
  cv::Point2d a = polygon_.back();
  for (const cv::Point2d b : polygon_) {
    if ((a.y > point.y) != (b.y > point.y)) {
      const int side = orientation(a, b, point);
      if (side == 0) return true;
      if ((side > 0) == (b.y > a.y)) inside = !inside;
    } else if (is_between(a, b, point) && orientation(a, b, point) == 0) {
      return true;
    }
    a = b;
  }
  return inside;
}

bool ZoneShape::still_contains(cv::Point2d point) const noexcept {
  if (point.x < bounds_.x1 - hysteresis_ || point.x > bounds_.x2 + hysteresis_ ||
      point.y < bounds_.y1 - hysteresis_ || point.y > bounds_.y2 + hysteresis_)
    return false;
  if (contains(point)) return true;
  cv::Point2d a = polygon_.back();
  for (const cv::Point2d b : polygon_) {
    if (squared_distance(a, b, point) <= hysteresis_ * hysteresis_) return true;
    a = b;
  }
  return false;
}

ZoneMap::ZoneMap(const EventRules& rules, const std::vector<bool>& used, cv::Size picture)
    : picture_(picture) {
  const cv::Size2d scale =
      rules.unit == EventRules::Unit::relative ? cv::Size2d(picture) : cv::Size2d(1, 1);
  for (const EventZone& zone : rules.zones) shapes_.emplace_back(zone, scale);
  std::vector<BoxPoint> points;
  for (std::size_t i = 0; i < shapes_.size(); ++i)
    if (used[i] && std::ranges::find(points, shapes_[i].point()) == points.end())
      points.push_back(shapes_[i].point());
  for (const BoxPoint point : points) grids_.push_back(make_grid(point, used));
}

int ZoneMap::column(double x) const noexcept { return clamped_cell(x, picture_.width, kCells); }

int ZoneMap::row(double y) const noexcept { return clamped_cell(y, picture_.height, kCells); }

std::size_t ZoneMap::cell(cv::Point2d point) const noexcept {
  return cell(row(point.y), column(point.x));
}

std::size_t ZoneMap::cell(int row, int column) noexcept {
  return static_cast<std::size_t>(row) * kCells + static_cast<std::size_t>(column);
}

ZoneMap::Grid ZoneMap::make_grid(BoxPoint point, const std::vector<bool>& used) const {
  std::array<std::vector<std::uint32_t>, static_cast<std::size_t>(kCells) * kCells> cells;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    if (!used[i] || shapes_[i].point() != point) continue;
    const BoundingBox& bounds = shapes_[i].bounds();
    for (int y = row(bounds.y1); y <= row(bounds.y2); ++y)
      for (int x = column(bounds.x1); x <= column(bounds.x2); ++x)
        cells[cell(y, x)].push_back(static_cast<std::uint32_t>(i));
  }
  Grid grid{.point = point, .begins = {0}, .zones = {}};
  for (const auto& zones : cells) {
    grid.zones.insert(grid.zones.end(), zones.begin(), zones.end());
    grid.begins.push_back(static_cast<std::uint32_t>(grid.zones.size()));
  }
  return grid;
}

LineShape::LineShape(const EventLine& line, cv::Size2d scale)
    : from_(line.from.x * scale.width, line.from.y * scale.height),
      to_(line.to.x * scale.width, line.to.y * scale.height),
      length_(std::hypot(to_.x - from_.x, to_.y - from_.y)),
      point_(line.point),
      hysteresis_(line.hysteresis) {}

bool LineShape::is_clear(cv::Point2d point) const noexcept {
  return std::abs((to_ - from_).cross(point - from_)) >= hysteresis_ * length_;
}

/// Whether the path meets the line between its ends. The path leads from one side, or from a point
/// on the endless line, to the other side.
bool LineShape::is_met(cv::Point2d before, cv::Point2d here) const noexcept {
  if (orientation(from_, to_, before) == 0) return is_between(from_, to_, before);
  return orientation(before, here, from_) * orientation(before, here, to_) <= 0;
}

void LineShape::begin(LinePassage& passage, cv::Point2d here) const noexcept {
  const int side = orientation(from_, to_, here);
  passage.side = static_cast<std::int8_t>(side);
  passage.clear = is_clear(here) ? passage.side : std::int8_t{0};
  passage.is_odd = false;
}

int LineShape::advance(LinePassage& passage, cv::Point2d before, cv::Point2d here) const noexcept {
  const int side = orientation(from_, to_, here);
  if (side == 0) return 0;
  if (passage.side == -side && is_met(before, here)) passage.is_odd = !passage.is_odd;
  passage.side = static_cast<std::int8_t>(side);
  if (!is_clear(here)) return 0;
  const bool crossed = passage.clear == -side && passage.is_odd;
  passage.clear = passage.side;
  passage.is_odd = false;
  return crossed ? side : 0;
}

}  // namespace vcap
