// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/detr_reader.hpp"

#include <utility>

#include "backends/reading.hpp"

namespace vcap {
namespace {

constexpr std::string_view kDetr = "DetrReader";

}  // namespace

DetrReader::DetrReader(DetrSettings settings) : settings_(std::move(settings)) {
  reading::require_classes(kDetr, settings_.classes);
  reading::require_filter(kDetr, settings_.filter);
}

Detections DetrReader::operator()(const ModelOutputs& outputs) const {
  const TensorView& logits = reading::output(kDetr, outputs, settings_.logits);
  const TensorView& boxes = reading::output(kDetr, outputs, settings_.boxes);
  const bool softmax = settings_.scores == DetrSettings::Scores::softmax;
  const std::size_t columns = settings_.classes + (softmax ? 1 : 0);
  const auto shape = reading::shape_of_rank(logits, 2);
  if (!shape || (*shape)[1] != columns)
    reading::refuse_shape(
        kDetr, logits,
        "[1,Q," + std::to_string(columns) + "] for " + std::to_string(settings_.classes) +
            (softmax ? " classes and \"no object\"" : " classes"),
        "set classes and scores to the model's, or exchange the outputs logits and boxes");
  const std::size_t queries = (*shape)[0];
  if (reading::shape_of_rank(boxes, 2) != reading::Shape{queries, 4})
    reading::refuse_shape(kDetr, boxes, "[1," + std::to_string(queries) + ",4]",
                          "exchange the outputs logits and boxes, or name them");

  const double width = outputs.input.width, height = outputs.input.height;
  reading::Candidates candidates(outputs, settings_.filter);
  for (std::size_t query = 0; query < queries; ++query) {
    const std::span<const float> row = logits.values.subspan(query * columns, columns);
    const std::span<const float> box = boxes.values.subspan(query * 4, 4);
    if (!reading::all_finite(row) || !reading::all_finite(box)) continue;
    const std::size_t best = reading::greatest(row.first(settings_.classes));
    const double confidence = softmax ? reading::softmax(row)[best] : reading::sigmoid(row[best]);
    if (!candidates.wants(confidence)) continue;
    candidates.add(
        reading::centred(box[0] * width, box[1] * height, box[2] * width, box[3] * height), best,
        confidence);
  }
  return std::move(candidates).finish();
}

}  // namespace vcap
