// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>
#include <opencv2/core/types.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// A polygon in pixels of the frame, x to the right and y down. It is not closed: the last point
/// does not repeat the first one.
using Coords = std::vector<cv::Point2d>;

/// An upright box in pixels: x1 ≤ x < x2, y1 ≤ y < y2. Thread safety: value.
struct VCAP_EXPORT BoundingBox {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;

  /// The smallest box around all points; throws InvalidArgument if there are no points.
  static BoundingBox around(const Coords& coords);

  double width() const noexcept { return x2 - x1; }
  double height() const noexcept { return y2 - y1; }
  double area() const noexcept { return width() * height(); }
  cv::Size2d size() const noexcept { return {width(), height()}; }
  cv::Point2d centre() const noexcept { return {(x1 + x2) / 2, (y1 + y2) / 2}; }
  /// Corners as (x1, y1, x2, y2).
  cv::Vec4d rect() const noexcept { return {x1, y1, x2, y2}; }
  /// Corner and size as (x, y, width, height).
  cv::Vec4d xywh() const noexcept { return {x1, y1, width(), height()}; }

  bool operator==(const BoundingBox&) const = default;
};

/// The rectangle's corners, clockwise from the top left.
VCAP_EXPORT Coords rect_to_coords(const cv::Rect2d& rect);
/// The box's corners, clockwise from the top left.
VCAP_EXPORT Coords rect_to_coords(const BoundingBox& box);

/// {"x":…,"y":…,"w":…,"h":…}; from_json throws InvalidArgument (invalid_json) that names the wrong
/// field. When read back, x2 is x + w. It is the same value if x2 - x1 is exact, as for whole
/// pixels and their binary fractions; else it differs by at most a rounding.
VCAP_EXPORT void to_json(nlohmann::json& json, const BoundingBox& box);
VCAP_EXPORT void from_json(const nlohmann::json& json, BoundingBox& box);

}  // namespace vcap
