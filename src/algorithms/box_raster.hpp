// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// false for a box without area, with x2 < x1 or y2 < y1, or with a NaN coordinate.
inline bool has_area(const BoundingBox& box) { return box.width() > 0 && box.height() > 0; }

/// One axis of a raster over the boxes' left-top corners.
class RasterAxis {
 public:
  /// `begin` and `length` give the begin and length of a box on this axis. Boxes without area do
  /// not count.
  template <class Begin, class Length>
  RasterAxis(std::span<const BoundingBox> boxes, std::span<const std::size_t> members,
             std::size_t cells, Begin begin, Length length)
      : cells_(cells) {
    double last = -std::numeric_limits<double>::infinity();
    for (const std::size_t member : members) {
      const BoundingBox& box = boxes[member];
      if (!has_area(box)) continue;
      first_ = std::min(first_, begin(box));
      last = std::max(last, begin(box));
      longest_ = std::max(longest_, length(box));
    }
    cell_size_ = (last - first_) / static_cast<double>(cells);
  }

  /// Never falls if x rises, so a place between two others has a cell between theirs.
  std::size_t cell(double x) const {
    const double place = (x - first_) / cell_size_;
    if (!(place > 0)) return 0;  // NaN too: from infinite boxes, or if all are at one place
    return place < static_cast<double>(cells_) ? static_cast<std::size_t>(place) : cells_ - 1;
  }

  /// How far before a box of that length another box can begin if their IoU is above min_iou. The
  /// other box must reach this one. An IoU is never above the ratio of the boxes' lengths, so the
  /// other box is at most length / min_iou long. The factor covers rounding.
  double reach(double length, double min_iou) const {
    return std::min(longest_, length / min_iou) * (1 + 1e-9);
  }

 private:
  std::size_t cells_;
  double first_ = std::numeric_limits<double>::infinity();
  double longest_ = 0;
  double cell_size_ = 0;
};

/// A raster of some boxes of a list, by their left-top corners, so that a box is compared only with
/// boxes that are near enough. Takes only boxes with an area, since no others overlap (see iou).
/// Borrows the boxes. Thread safety: thread-compatible.
class BoxRaster {
 public:
  /// Holds nothing at first. Only `members`, which are indices in `boxes`, can be added.
  BoxRaster(std::span<const BoundingBox> boxes, std::span<const std::size_t> members)
      : boxes_(boxes),
        // About one cell for each box.
        side_(static_cast<std::size_t>(std::sqrt(static_cast<double>(members.size()))) + 1),
        x_(boxes, members, side_, std::mem_fn(&BoundingBox::x1), std::mem_fn(&BoundingBox::width)),
        y_(boxes, members, side_, std::mem_fn(&BoundingBox::y1), std::mem_fn(&BoundingBox::height)),
        cells_(side_ * side_) {}

  void add(std::size_t index) { cell_of(index).push_back(index); }
  void remove(std::size_t index) { std::erase(cell_of(index), index); }

  /// Whether `is_it(index)` is true for any box held whose IoU with `box` can be above `min_iou`.
  /// It is also called for some other boxes. With `min_iou` 0 it is called for all that touch
  /// `box`.
  template <class Predicate>
  bool any_near(const BoundingBox& box, double min_iou, Predicate is_it) const {
    const std::size_t left = x_.cell(box.x1 - x_.reach(box.width(), min_iou));
    const std::size_t top = y_.cell(box.y1 - y_.reach(box.height(), min_iou));
    const std::size_t right = x_.cell(box.x2), bottom = y_.cell(box.y2);
    for (std::size_t row = top; row <= bottom; ++row)
      for (std::size_t column = left; column <= right; ++column)
        for (const std::size_t index : cells_[row * side_ + column])
          if (is_it(index)) return true;
    return false;
  }

 private:
  std::vector<std::size_t>& cell_of(std::size_t index) {
    const BoundingBox& box = boxes_[index];
    return cells_[y_.cell(box.y1) * side_ + x_.cell(box.x1)];
  }

  std::span<const BoundingBox> boxes_;
  std::size_t side_;
  RasterAxis x_, y_;
  std::vector<std::vector<std::size_t>> cells_;
};

}  // namespace vcap
