// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/iou.hpp"

#include <algorithm>

#include "algorithms/matrix_size.hpp"

namespace vcap {

double iou(const BoundingBox& a, const BoundingBox& b) noexcept {
  // Comparisons with NaN are false here and give 0. Checks the sides, since two negative sides
  // would make a positive area.
  const auto has_area = [](const BoundingBox& box) { return box.width() > 0 && box.height() > 0; };
  if (!has_area(a) || !has_area(b)) return 0;
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (!(width > 0) || !(height > 0)) return 0;
  const double intersection = width * height;
  // Rounding is monotone, so neither the sum nor the quotient leaves 0…1, and a box gives exactly
  // 1 with itself. Infinite areas have no quotient.
  const double result = intersection / (a.area() + b.area() - intersection);
  return result <= 1 ? result : 0;
}

cv::Mat1d iou_cost_matrix(std::span<const BoundingBox> rows, std::span<const BoundingBox> columns) {
  cv::Mat1d cost(matrix_side(rows.size(), "rows"), matrix_side(columns.size(), "columns"));
  for (int row = 0; row < cost.rows; ++row) {
    const BoundingBox& box = rows[static_cast<std::size_t>(row)];
    std::ranges::transform(columns, cost[row],
                           [&box](const BoundingBox& other) { return 1 - iou(box, other); });
  }
  return cost;
}

}  // namespace vcap
