// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/dense_reader.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "backends/cells.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

constexpr std::string_view kDepth = "DepthReader";
constexpr std::string_view kDensity = "DensityReader";

}  // namespace

cv::Mat1f DepthMap::normalized() const {
  cv::Mat1f result(values.size(), 0.0f);
  if (values.empty()) return result;
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  const double low = *least, range = *greatest - low;
  if (!(range > 0)) return result;
  std::transform(values.begin(), values.end(), result.begin(),
                 [&](float value) { return static_cast<float>((value - low) / range); });
  return result;
}

cv::Mat1b DepthMap::normalized_8u() const {
  const cv::Mat1f parts = normalized();
  cv::Mat1b result(parts.size());
  std::transform(parts.begin(), parts.end(), result.begin(),
                 [](float part) { return static_cast<std::uint8_t>(std::lround(part * 255)); });
  return result;
}

double DensityMap::count() const {
  double sum = 0;
  for (const float value : values) sum += value;
  return sum;
}

DensityMap DensityMap::resized(cv::Size size) const {
  const auto side = [](int length) { return std::to_string(length); };
  if (values.empty() || size.width <= 0 || size.height <= 0)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "a density map of " + side(values.cols) + "x" + side(values.rows) +
                              " cannot get the size " + side(size.width) + "x" + side(size.height) +
                              "; both must be positive");
  const reading::CellAxis x{size.width, values.cols, static_cast<double>(values.cols) / size.width,
                            0};
  const reading::CellAxis y{size.height, values.rows,
                            static_cast<double>(values.rows) / size.height, 0};
  return {reading::spread(values, x, y)};
}

DepthReader::DepthReader(DepthSettings settings) : settings_(std::move(settings)) {}

DepthMap DepthReader::operator()(const ModelOutputs& outputs) const {
  const TensorView& tensor = reading::output(kDepth, outputs, settings_.output);
  cv::Mat1f grid = reading::grid_values(kDepth, tensor, 1);
  if (!settings_.picture_size) return {std::move(grid)};
  return {reading::interpolated(grid, reading::x_axis(outputs, grid.cols),
                                reading::y_axis(outputs, grid.rows))};
}

DensityReader::DensityReader(DensitySettings settings) : settings_(std::move(settings)) {
  reading::require_positive(kDensity, "factor", settings_.factor);
}

DensityMap DensityReader::operator()(const ModelOutputs& outputs) const {
  const TensorView& tensor = reading::output(kDensity, outputs, settings_.output);
  cv::Mat1f grid = reading::grid_values(kDensity, tensor, settings_.factor);
  if (!settings_.picture_size) return {std::move(grid)};
  return {reading::spread(grid, reading::x_axis(outputs, grid.cols),
                          reading::y_axis(outputs, grid.rows))};
}

}  // namespace vcap
