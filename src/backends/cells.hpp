// SPDX-License-Identifier: Apache-2.0
// Outputs with a value for each cell of a grid over the model's input, and the pixels of the
// picture.
#pragma once

#include <string_view>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "backends/reading.hpp"

namespace vcap::reading {

/// The longest side of a grid: OpenCV takes sides up to this in all of its functions.
constexpr std::size_t kLongestSide = 32766;

/// The size of a grid. Throws EngineError (model_output) if a side is 0 or above kLongestSide.
cv::Size grid_size(std::string_view reader, const TensorView& tensor, std::size_t rows,
                   std::size_t columns, std::string_view wanted);

/// The values of an output [1,H,W], [1,1,H,W] or [1,H,W,1], times a factor. Values that are not
/// finite become 0.
cv::Mat1f grid_values(std::string_view reader, const TensorView& tensor, double factor);

/// One axis of the picture over a grid.
struct CellAxis {
  int pixels;           ///< of the picture along the axis
  int cells;            ///< of the grid
  double scale, shift;  ///< cell = scale·pixel + shift

  /// The pixel's place in cells, bounded to 0…cells; 0 if the map has no inverse.
  double position(double pixel) const;
};

CellAxis x_axis(const ModelOutputs& outputs, int cells);
CellAxis y_axis(const ModelOutputs& outputs, int cells);

/// For each pixel, the cell that contains its middle.
std::vector<int> nearest_cells(const CellAxis& axis);

/// The grid's values at the middles of pixels, linear between the middles of cells.
cv::Mat1f interpolated(const cv::Mat1f& grid, const CellAxis& x, const CellAxis& y);

/// The share of the grid's values in each pixel, if each value is spread evenly over its cell.
cv::Mat1f spread(const cv::Mat1f& grid, const CellAxis& x, const CellAxis& y);

}  // namespace vcap::reading
