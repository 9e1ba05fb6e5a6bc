// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <opencv2/core/types.hpp>

#include "vcap/algorithms/event_rules.hpp"
#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// That point of the box.
cv::Point2d point_of(const BoundingBox& box, BoxPoint point) noexcept;

/// A zone in pixels. Thread safety: thread-safe, since it does not change.
class ZoneShape {
 public:
  ZoneShape(const EventZone& zone, cv::Size2d scale);

  BoxPoint point() const noexcept { return point_; }
  const BoundingBox& bounds() const noexcept { return bounds_; }
  /// Whether the point is inside or exactly on the border.
  bool contains(cv::Point2d point) const noexcept;
  /// The same, or at most the hysteresis outside.
  bool still_contains(cv::Point2d point) const noexcept;

 private:
  Coords polygon_;
  BoundingBox bounds_;
  BoxPoint point_;
  double hysteresis_;
};

/// The zones of a picture, and a grid that gives those near a point. Thread safety: thread-safe,
/// since it does not change.
class ZoneMap {
 public:
  /// A map without zones.
  ZoneMap() = default;
  /// `used`: whether a zone is wanted, by its index; the grid has only those.
  ZoneMap(const EventRules& rules, const std::vector<bool>& used, cv::Size picture);

  const ZoneShape& shape(std::size_t zone) const noexcept { return shapes_[zone]; }
  /// Calls `visit(zone)` for each wanted zone that may contain its point of the box, in rising
  /// order for each kind of point.
  template <class Visit>
  void for_each_near(const BoundingBox& box, Visit visit) const {
    for (const Grid& grid : grids_)
      for (const std::uint32_t zone : grid.at(cell(point_of(box, grid.point)))) visit(zone);
  }

 private:
  static constexpr int kCells = 32;  // in each direction

  /// The zones that touch each cell, one cell after the other.
  struct Grid {
    BoxPoint point;
    std::vector<std::uint32_t> begins;  ///< in `zones`, for each cell, and the end
    std::vector<std::uint32_t> zones;
    std::span<const std::uint32_t> at(std::size_t cell) const noexcept {
      return std::span(zones).subspan(begins[cell], begins[cell + 1] - begins[cell]);
    }
  };

  int column(double x) const noexcept;
  int row(double y) const noexcept;
  std::size_t cell(cv::Point2d point) const noexcept;
  static std::size_t cell(int row, int column) noexcept;
  Grid make_grid(BoxPoint point, const std::vector<bool>& used) const;

  cv::Size picture_{};
  std::vector<ZoneShape> shapes_;
  std::vector<Grid> grids_;  ///< one for each kind of point in use
};

/// Where a track is in relation to a line. A passive machine. Thread safety: value.
struct LinePassage {
  std::int8_t side = 0;   ///< of the last point that was not exactly on the line; 0: none yet
  std::int8_t clear = 0;  ///< of the last point that was clear of the line; 0: none yet
  bool is_odd = false;    ///< whether the path went through the line an odd number of times since
};

/// A line in pixels. Thread safety: thread-safe, since it does not change.
class LineShape {
 public:
  LineShape(const EventLine& line, cv::Size2d scale);

  BoxPoint point() const noexcept { return point_; }
  /// The path begins here.
  void begin(LinePassage& passage, cv::Point2d here) const noexcept;
  /// The path leads on from `before` to `here`. Returns 1 if the line is now crossed to its right
  /// side, -1 to its left side, else 0.
  int advance(LinePassage& passage, cv::Point2d before, cv::Point2d here) const noexcept;

 private:
  bool is_clear(cv::Point2d point) const noexcept;
  bool is_met(cv::Point2d before, cv::Point2d here) const noexcept;

  cv::Point2d from_, to_;
  double length_;
  BoxPoint point_;
  double hysteresis_;
};

}  // namespace vcap
