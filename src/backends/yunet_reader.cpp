// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/yunet_reader.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "backends/reading.hpp"

namespace vcap {
namespace {

constexpr std::string_view kYunet = "YunetReader";

/// The values of one stride's outputs, and its grid.
struct YunetLevel {
  double stride = 0;
  std::size_t columns = 0, rows = 0;
  std::span<const float> classes{}, objectness{}, boxes{}, keypoints{};
};

YunetLevel yunet_level(const YunetSettings& settings, const ModelOutputs& outputs,
                       std::size_t level) {
  const int stride = settings.strides[level];
  const int greatest = std::ranges::max(settings.strides);
  const auto cells = [&](int pixels) {
    const int blocks = std::max(pixels, 0) / greatest + (std::max(pixels, 0) % greatest > 0);
    return static_cast<std::size_t>(blocks) * static_cast<std::size_t>(greatest / stride);
  };
  YunetLevel result{static_cast<double>(stride), cells(outputs.input.width),
                    cells(outputs.input.height)};
  const std::size_t count = result.columns * result.rows;
  const auto values = [&](std::size_t kind, const char* prefix, std::size_t width) {
    OutputRef ref{"", kind * settings.strides.size() + level};
    if (settings.by_name) ref.name = prefix + std::to_string(stride);
    const TensorView& tensor = reading::output(kYunet, outputs, ref);
    const auto shape = reading::shape_of_rank(tensor, 2);
    const bool column = width == 1 && tensor.values.size() == count && reading::is_vector(tensor);
    if (!column && shape != reading::Shape{count, width})
      reading::refuse_shape(kYunet, tensor,
                            "[1," + std::to_string(count) + "," + std::to_string(width) +
                                "] for an input of " + std::to_string(outputs.input.width) + "x" +
                                std::to_string(outputs.input.height) + " pixels",
                            "set strides and keypoints to the model's");
    return tensor.values;
  };
  result.classes = values(0, "cls_", 1);
  result.objectness = values(1, "obj_", 1);
  result.boxes = values(2, "bbox_", 4);
  result.keypoints = values(3, "kps_", 2 * settings.keypoints.size());
  return result;
}

void read_level(const YunetSettings& settings, const YunetLevel& level,
                reading::Candidates& candidates) {
  const std::size_t points = settings.keypoints.size();
  for (std::size_t i = 0; i < level.columns * level.rows; ++i) {
    if (!std::isfinite(level.classes[i]) || !std::isfinite(level.objectness[i])) continue;
    const double confidence = std::sqrt(reading::probability(level.classes[i]) *
                                        reading::probability(level.objectness[i]));
    const auto box = level.boxes.subspan(i * 4, 4);
    const auto raw = level.keypoints.subspan(i * 2 * points, 2 * points);
    if (!candidates.wants(confidence) || !reading::all_finite(box) || !reading::all_finite(raw))
      continue;
    const std::size_t cells_above = i / level.columns;
    const auto column = static_cast<double>(i % level.columns);
    const auto row = static_cast<double>(cells_above);
    std::vector<Keypoint> keypoints(points);
    for (std::size_t k = 0; k < points; ++k)
      keypoints[k] = {
          .name = settings.keypoints[k],
          .point = {(column + raw[2 * k]) * level.stride, (row + raw[2 * k + 1]) * level.stride}};
    candidates.add(reading::centred((column + box[0]) * level.stride, (row + box[1]) * level.stride,
                                    std::exp(static_cast<double>(box[2])) * level.stride,
                                    std::exp(static_cast<double>(box[3])) * level.stride),
                   0, confidence, std::move(keypoints));
  }
}

}  // namespace

YunetReader::YunetReader(YunetSettings settings) : settings_(std::move(settings)) {
  reading::require_filter(kYunet, settings_.filter);
  if (settings_.strides.empty())
    reading::refuse_setting(kYunet, "strides is empty; give each grid's, such as 8, 16, 32");
  for (const int stride : settings_.strides) reading::require_side(kYunet, "a stride", stride);
  const int greatest = std::ranges::max(settings_.strides);
  for (const int stride : settings_.strides)
    if (greatest % stride != 0)
      reading::refuse_setting(kYunet, "stride " + std::to_string(stride) +
                                          " does not divide the greatest, " +
                                          std::to_string(greatest));
}

Detections YunetReader::operator()(const ModelOutputs& outputs) const {
  reading::Candidates candidates(outputs, settings_.filter);
  for (std::size_t level = 0; level < settings_.strides.size(); ++level)
    read_level(settings_, yunet_level(settings_, outputs, level), candidates);
  return std::move(candidates).finish();
}

}  // namespace vcap
