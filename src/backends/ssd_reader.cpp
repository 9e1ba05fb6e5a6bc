// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/ssd_reader.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "backends/reading.hpp"

namespace vcap {
namespace {

constexpr std::string_view kSsd = "SsdReader";
constexpr std::string_view kTf = "TfDetectionReader";

/// The index of the model's label in the list; `nullopt` for a label before the first.
std::optional<std::size_t> label_index(std::string_view reader, float raw, std::size_t offset,
                                       std::size_t classes) {
  const double label = std::round(static_cast<double>(raw)) - static_cast<double>(offset);
  if (label < 0) return std::nullopt;
  if (!(label < static_cast<double>(classes)))
    reading::refuse_label(reader, label, classes,
                          "set classes and label_offset to the model's (the offset is subtracted)");
  return static_cast<std::size_t>(label);
}

/// A box relative to the input in pixels of the input.
BoundingBox scaled(const BoundingBox& relative, cv::Size input) {
  return {relative.x1 * input.width, relative.y1 * input.height, relative.x2 * input.width,
          relative.y2 * input.height};
}

/// The number of valid entries that the output gives, at most `most`; NaN counts as 0.
std::size_t valid_entries(const ModelOutputs& outputs, const OutputRef& ref, std::size_t most) {
  const TensorView& tensor = reading::output(kTf, outputs, ref);
  if (tensor.values.size() != 1)
    reading::refuse_shape(kTf, tensor, "[1]", "set count to the number of detections, or to none");
  const double count = tensor.values[0];
  if (!(count > 0)) return 0;
  return count < static_cast<double>(most) ? static_cast<std::size_t>(count) : most;
}

}  // namespace

SsdReader::SsdReader(SsdSettings settings) : settings_(std::move(settings)) {
  reading::require_classes(kSsd, settings_.classes);
  reading::require_filter(kSsd, settings_.filter);
}

Detections SsdReader::operator()(const ModelOutputs& outputs) const {
  const TensorView& tensor = reading::output(kSsd, outputs, settings_.output);
  const auto shape = reading::shape_of_rank(tensor, 2);
  if (!shape || (*shape)[1] != 7)
    reading::refuse_shape(kSsd, tensor, "[1,1,N,7]",
                          "use the reader of the model's family, or export it for one picture");
  reading::Candidates candidates(outputs, settings_.filter);
  for (std::size_t row = 0; row < (*shape)[0]; ++row) {
    const std::span<const float> values = tensor.values.subspan(row * 7, 7);
    if (values[0] < 0) break;
    if (!candidates.wants(values[2]) || !reading::all_finite(values)) continue;
    const auto label = label_index(kSsd, values[1], settings_.label_offset, settings_.classes);
    if (!label) continue;
    candidates.add(scaled({values[3], values[4], values[5], values[6]}, outputs.input), *label,
                   values[2]);
  }
  return std::move(candidates).finish();
}

TfDetectionReader::TfDetectionReader(TfDetectionSettings settings)
    : settings_(std::move(settings)) {
  reading::require_classes(kTf, settings_.classes);
  reading::require_filter(kTf, settings_.filter);
}

Detections TfDetectionReader::operator()(const ModelOutputs& outputs) const {
  const TensorView& boxes = reading::output(kTf, outputs, settings_.boxes);
  const TensorView& labels = reading::output(kTf, outputs, settings_.classes_of);
  const TensorView& scores = reading::output(kTf, outputs, settings_.scores);
  const auto shape = reading::shape_of_rank(boxes, 2);
  constexpr std::string_view kRemedy =
      "name the model's outputs, since their order depends on the exporter";
  if (!shape || (*shape)[1] != 4) reading::refuse_shape(kTf, boxes, "[1,N,4]", kRemedy);
  const std::size_t count = (*shape)[0];
  for (const TensorView* tensor : {&labels, &scores})
    if (tensor->values.size() != count || !reading::is_vector(*tensor))
      reading::refuse_shape(kTf, *tensor, "[1," + std::to_string(count) + "] as there are boxes",
                            kRemedy);
  const std::size_t valid =
      settings_.count ? valid_entries(outputs, *settings_.count, count) : count;

  reading::Candidates candidates(outputs, settings_.filter);
  for (std::size_t i = 0; i < valid; ++i) {
    const std::span<const float> box = boxes.values.subspan(i * 4, 4);
    if (!candidates.wants(scores.values[i]) || !std::isfinite(scores.values[i])) continue;
    if (!reading::all_finite(box) || !std::isfinite(labels.values[i])) continue;
    const auto label =
        label_index(kTf, labels.values[i], settings_.label_offset, settings_.classes);
    if (!label) continue;
    candidates.add(scaled({box[1], box[0], box[3], box[2]}, outputs.input), *label,
                   scores.values[i]);
  }
  return std::move(candidates).finish();
}

}  // namespace vcap
