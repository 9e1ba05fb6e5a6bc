// SPDX-License-Identifier: Apache-2.0
#include "view/heat_grid.hpp"

#include <algorithm>
#include <limits>

namespace vcap {

void HeatGrid::add(const BoundingBox& box, const cv::Size& resolution) noexcept {
  if (resolution.width <= 0 || resolution.height <= 0) return;
  const double x = (box.x1 + box.x2) / 2 / resolution.width;
  const double y = box.y2 / resolution.height;
  if (!(x >= 0 && x <= 1 && y >= 0 && y <= 1)) return;  // also if a number is not finite
  const auto column = std::min(static_cast<std::size_t>(x * kColumns), kColumns - 1);
  const auto row = std::min(static_cast<std::size_t>(y * kRows), kRows - 1);
  std::uint32_t& count = counts_[row * kColumns + column];
  if (count < std::numeric_limits<std::uint32_t>::max()) ++count;
  largest_ = std::max(largest_, count);
}

}  // namespace vcap
