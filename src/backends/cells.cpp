// SPDX-License-Identifier: Apache-2.0
#include "backends/cells.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace vcap::reading {
namespace {

/// The value as a float, bounded to the range of floats. It must not be NaN.
float bounded_float(double value) {
  constexpr double most = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(value, -most, most));
}

/// A cell with its weight in a pixel. The pixel's value is the sum of weight·value over its cells.
struct CellWeight {
  int cell;
  double weight;
};
using PixelWeights = std::vector<std::vector<CellWeight>>;

PixelWeights linear_weights(const CellAxis& axis) {
  PixelWeights result;
  for (int pixel = 0; pixel < axis.pixels; ++pixel) {
    const double place = std::clamp(axis.position(pixel + 0.5) - 0.5, 0.0, axis.cells - 1.0);
    const int cell = static_cast<int>(place);
    const double after = place - cell;
    auto& weights = result.emplace_back();
    weights.push_back({cell, 1 - after});
    if (after > 0) weights.push_back({cell + 1, after});
  }
  return result;
}

PixelWeights overlap_weights(const CellAxis& axis) {
  PixelWeights result;
  for (int pixel = 0; pixel < axis.pixels; ++pixel) {
    double begin = axis.position(pixel), end = axis.position(pixel + 1.0);
    if (begin > end) std::swap(begin, end);
    auto& weights = result.emplace_back();
    for (int cell = static_cast<int>(begin); cell < axis.cells && cell < end; ++cell)
      weights.push_back({cell, std::min(end, cell + 1.0) - std::max<double>(begin, cell)});
  }
  return result;
}

cv::Mat1f weighted(const cv::Mat1f& grid, const PixelWeights& columns, const PixelWeights& rows) {
  cv::Mat1d wide(grid.rows, static_cast<int>(columns.size()));
  for (int row = 0; row < wide.rows; ++row)
    for (int column = 0; column < wide.cols; ++column) {
      double sum = 0;
      for (const auto& [cell, weight] : columns[static_cast<std::size_t>(column)])
        sum += weight * grid(row, cell);
      wide(row, column) = sum;
    }
  cv::Mat1f result(static_cast<int>(rows.size()), wide.cols);
  for (int row = 0; row < result.rows; ++row)
    for (int column = 0; column < result.cols; ++column) {
      double sum = 0;
      for (const auto& [cell, weight] : rows[static_cast<std::size_t>(row)])
        sum += weight * wide(cell, column);
      result(row, column) = bounded_float(sum);
    }
  return result;
}

CellAxis cell_axis(int pixels, int input, int cells, double scale, double shift) {
  const double unit = static_cast<double>(cells) / input;
  return {std::max(pixels, 0), cells, unit / scale, -shift * unit / scale};
}

}  // namespace

cv::Size grid_size(std::string_view reader, const TensorView& tensor, std::size_t rows,
                   std::size_t columns, std::string_view wanted) {
  if (rows == 0 || columns == 0 || rows > kLongestSide || columns > kLongestSide)
    refuse_shape(reader, tensor, std::string(wanted) + " with sides of 1 to 32766",
                 "export the model for a fixed size of its input");
  return {static_cast<int>(columns), static_cast<int>(rows)};
}

cv::Mat1f grid_values(std::string_view reader, const TensorView& tensor, double factor) {
  constexpr std::string_view wanted = "[1,H,W], [1,1,H,W] or [1,H,W,1]";
  std::optional<Shape> shape = shape_of_rank(tensor, 2);
  if (!shape && !tensor.shape.empty() && tensor.shape.back() == 1) {
    if ((shape = shape_of_rank(tensor, 3))) shape->pop_back();
  }
  if (!shape)
    refuse_shape(reader, tensor, wanted, "name the output that has a value for each cell");
  cv::Mat1f grid(grid_size(reader, tensor, (*shape)[0], (*shape)[1], wanted));
  std::ranges::transform(tensor.values, grid.begin(), [factor](float value) {
    return std::isfinite(value) ? bounded_float(value * factor) : 0.0f;
  });
  return grid;
}

double CellAxis::position(double pixel) const {
  const double place = scale * pixel + shift;
  return std::isfinite(place) ? std::clamp<double>(place, 0, cells) : 0;
}

CellAxis x_axis(const ModelOutputs& outputs, int cells) {
  return cell_axis(outputs.picture.width, outputs.input.width, cells, outputs.map.x_scale,
                   outputs.map.x_shift);
}

CellAxis y_axis(const ModelOutputs& outputs, int cells) {
  return cell_axis(outputs.picture.height, outputs.input.height, cells, outputs.map.y_scale,
                   outputs.map.y_shift);
}

std::vector<int> nearest_cells(const CellAxis& axis) {
  std::vector<int> result;
  result.reserve(static_cast<std::size_t>(axis.pixels));
  for (int pixel = 0; pixel < axis.pixels; ++pixel)
    result.push_back(std::min(static_cast<int>(axis.position(pixel + 0.5)), axis.cells - 1));
  return result;
}

cv::Mat1f interpolated(const cv::Mat1f& grid, const CellAxis& x, const CellAxis& y) {
  return weighted(grid, linear_weights(x), linear_weights(y));
}

cv::Mat1f spread(const cv::Mat1f& grid, const CellAxis& x, const CellAxis& y) {
  return weighted(grid, overlap_weights(x), overlap_weights(y));
}

}  // namespace vcap::reading
