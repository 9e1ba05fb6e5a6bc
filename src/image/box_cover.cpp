// SPDX-License-Identifier: Apache-2.0
#include "image/box_cover.hpp"

#include <algorithm>

namespace vcap {
namespace {

/// Small enough that a label covers some cells, and at most 128 along a side of the image.
int cover_cell(cv::Size image) {
  return std::max(8, std::max(image.width, image.height) / 128 + 1);
}

}  // namespace

BoxCover::BoxCover(std::span<const cv::Rect> boxes, cv::Size image)
    : image_(image),
      cell_(cover_cell(image)),
      grid_((image.width + cell_ - 1) / cell_, (image.height + cell_ - 1) / cell_),
      sums_(static_cast<std::size_t>((grid_.width + 1) * (grid_.height + 1))) {
  // First the differences at the corners of each box; their sums are the counts.
  for (const cv::Rect& box : boxes) {
    const cv::Rect cells = cells_of(box);
    if (cells.empty()) continue;
    sum(cells.x, cells.y) += 1;
    sum(cells.x + cells.width, cells.y) -= 1;
    sum(cells.x, cells.y + cells.height) -= 1;
    sum(cells.x + cells.width, cells.y + cells.height) += 1;
  }
  const auto accumulate = [this] {
    for (int y = 0; y <= grid_.height; ++y)
      for (int x = 1; x <= grid_.width; ++x) sum(x, y) += sum(x - 1, y);
    for (int y = 1; y <= grid_.height; ++y)
      for (int x = 0; x <= grid_.width; ++x) sum(x, y) += sum(x, y - 1);
  };
  accumulate();
  accumulate();
  // Now an entry has the sum of the cells up to and with it; shifted, that of those before it.
  for (int y = grid_.height; y >= 0; --y)
    for (int x = grid_.width; x >= 0; --x) sum(x, y) = x > 0 && y > 0 ? sum(x - 1, y - 1) : 0;
}

double BoxCover::by_others(const cv::Rect& rect, const cv::Rect& own) const {
  const cv::Rect cells = cells_of(rect);
  if (cells.empty()) return 0;
  const int right = cells.x + cells.width, bottom = cells.y + cells.height;
  const double all = sum(right, bottom) - sum(cells.x, bottom) - sum(right, cells.y) +
                     sum(cells.x, cells.y) - (cells & cells_of(own)).area();
  return all / cells.area();
}

cv::Rect BoxCover::cells_of(const cv::Rect& rect) const {
  const cv::Rect seen = rect & cv::Rect({}, image_);
  if (seen.empty()) return {};
  const cv::Point from(seen.x / cell_, seen.y / cell_);
  const cv::Point to((seen.x + seen.width - 1) / cell_ + 1, (seen.y + seen.height - 1) / cell_ + 1);
  return {from, to};
}

}  // namespace vcap
