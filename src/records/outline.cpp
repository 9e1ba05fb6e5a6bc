// SPDX-License-Identifier: Apache-2.0
#include "records/outline.hpp"

#include <cmath>

namespace vcap {

bool is_box(const Coords& coords) {
  return coords.size() == 4 && coords == rect_to_coords(BoundingBox::around(coords));
}

double outline_area(const Coords& coords) {
  // Of a box, without the rounding errors of the sum below.
  if (coords.size() < 3 || is_box(coords)) return BoundingBox::around(coords).area();
  double sum = 0;  // twice the signed area, by Gauss's area formula
  for (std::size_t i = 0; i < coords.size(); ++i) {
    const cv::Point2d& a = coords[i];
    const cv::Point2d& b = coords[(i + 1) % coords.size()];
    sum += a.x * b.y - b.x * a.y;
  }
  return std::abs(sum) / 2;
}

}  // namespace vcap
