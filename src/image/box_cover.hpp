// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include <opencv2/core/types.hpp>

namespace vcap {

/// How much of a rectangle boxes cover, in time that does not depend on their number: counts of
/// boxes for each cell of a grid, as a summed-area table (F. C. Crow, "Summed-area tables for
/// texture mapping", SIGGRAPH 1984). Thread safety: value.
class BoxCover {
 public:
  BoxCover(std::span<const cv::Rect> boxes, cv::Size image);

  /// How many boxes but `own` cover the rectangle, in the mean over its cells. `own` must be one of
  /// the boxes, and the rectangle within the image.
  double by_others(const cv::Rect& rect, const cv::Rect& own) const;

 private:
  cv::Rect cells_of(const cv::Rect& rect) const;
  std::size_t place(int x, int y) const {
    return static_cast<std::size_t>(y) * (static_cast<std::size_t>(grid_.width) + 1) +
           static_cast<std::size_t>(x);
  }
  double& sum(int x, int y) { return sums_[place(x, y)]; }
  double sum(int x, int y) const { return sums_[place(x, y)]; }

  cv::Size image_;
  int cell_;
  cv::Size grid_;
  std::vector<double> sums_;  ///< at the corners of the cells
};

}  // namespace vcap
