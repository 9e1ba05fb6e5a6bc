// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// Intersection over union of two boxes; 0 if one has no area. (The public iou() is in a layer that
/// this one may not include.)
inline double overlap(const BoundingBox& a, const BoundingBox& b) noexcept {
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (!(width > 0 && height > 0)) return 0;
  const double common = width * height;
  return common / (a.area() + b.area() - common);
}

}  // namespace vcap
