// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/centerface_reader.hpp"

#include <cmath>
#include <utility>

#include "backends/reading.hpp"

namespace vcap {
namespace {

constexpr std::string_view kCenterface = "CenterfaceReader";

/// An output of several planes over the cells of the heat map.
struct Planes {
  std::span<const float> values;
  std::size_t cells;

  double at(std::size_t plane, std::size_t cell) const { return values[plane * cells + cell]; }
};

}  // namespace

CenterfaceReader::CenterfaceReader(CenterfaceSettings settings) : settings_(std::move(settings)) {
  reading::require_filter(kCenterface, settings_.filter);
  reading::require_side(kCenterface, "stride", settings_.stride);
}

Detections CenterfaceReader::operator()(const ModelOutputs& outputs) const {
  const TensorView& heatmap = reading::output(kCenterface, outputs, settings_.heatmap);
  const auto shape = reading::shape_of_rank(heatmap, 2);
  if (!shape)
    reading::refuse_shape(kCenterface, heatmap, "[1,1,H,W]",
                          "name the model's outputs, since their order depends on the exporter");
  const std::size_t rows = (*shape)[0], columns = (*shape)[1];
  const auto planes = [&](const OutputRef& ref, std::size_t count) {
    const TensorView& tensor = reading::output(kCenterface, outputs, ref);
    if (reading::shape_of_rank(tensor, 3) != reading::Shape{count, rows, columns})
      reading::refuse_shape(kCenterface, tensor,
                            "[1," + std::to_string(count) + "," + std::to_string(rows) + "," +
                                std::to_string(columns) + "] as the heat map has",
                            "name the model's outputs, since their order depends on the exporter");
    return Planes{tensor.values, rows * columns};
  };
  const std::size_t points = settings_.keypoints.size();
  const Planes scale = planes(settings_.scale, 2);
  const Planes offset = planes(settings_.offset, 2);
  const Planes landmarks = planes(settings_.landmarks, 2 * points);

  const double stride = settings_.stride;
  reading::Candidates candidates(outputs, settings_.filter);
  for (std::size_t cell = 0; cell < rows * columns; ++cell) {
    const double confidence = heatmap.values[cell];
    if (!candidates.wants(confidence)) continue;
    const std::size_t row = cell / columns;
    const double x = static_cast<double>(cell % columns) + offset.at(1, cell) + 0.5;
    const double y = static_cast<double>(row) + offset.at(0, cell) + 0.5;
    const BoundingBox box =
        reading::centred(x * stride, y * stride, std::exp(scale.at(1, cell)) * stride,
                         std::exp(scale.at(0, cell)) * stride);
    std::vector<Keypoint> keypoints(points);
    for (std::size_t k = 0; k < points; ++k)
      keypoints[k] = {.name = settings_.keypoints[k],
                      .point = {box.x1 + landmarks.at(2 * k + 1, cell) * box.width(),
                                box.y1 + landmarks.at(2 * k, cell) * box.height()}};
    candidates.add(box, 0, confidence, std::move(keypoints));
  }
  return std::move(candidates).finish();
}

}  // namespace vcap
