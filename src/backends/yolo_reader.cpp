// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/yolo_reader.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "backends/reading.hpp"

namespace vcap {
namespace {

constexpr std::string_view kYolo = "YoloReader";

/// A table of candidates, a row each, in row-major or column-major order.
struct YoloRows {
  std::span<const float> values;
  std::size_t count, row_step, column_step;

  float at(std::size_t row, std::size_t column) const {
    return values[row * row_step + column * column_step];
  }
  bool finite(std::size_t row, std::size_t columns) const {
    for (std::size_t column = 0; column < columns; ++column)
      if (!std::isfinite(at(row, column))) return false;
    return true;
  }
  /// For each row, the column in [begin, begin + columns) with the greatest value. It reads memory
  /// in order, since models of 8400 candidates have a plane of them for each class.
  std::vector<std::size_t> best(std::size_t begin, std::size_t columns) const {
    std::vector<std::size_t> found(count, begin);
    std::vector<float> most(count);
    for (std::size_t row = 0; row < count; ++row) most[row] = at(row, begin);
    const auto look = [&](std::size_t row, std::size_t column) {
      const float value = at(row, column);
      if (value <= most[row]) return;
      most[row] = value;
      found[row] = column;
    };
    if (column_step == 1) {
      for (std::size_t row = 0; row < count; ++row)
        for (std::size_t column = begin + 1; column < begin + columns; ++column) look(row, column);
    } else {
      for (std::size_t column = begin + 1; column < begin + columns; ++column)
        for (std::size_t row = 0; row < count; ++row) look(row, column);
    }
    return found;
  }
};

std::size_t yolo_columns(const YoloSettings& settings) {
  switch (settings.form) {
    case YoloForm::v5:
    case YoloForm::yolox:
      return 5 + settings.classes;
    case YoloForm::v8:
      return 4 + settings.classes + 3 * settings.keypoints.size();
    case YoloForm::end_to_end:
      break;
  }
  return 6;
}

YoloRows yolo_rows(const YoloSettings& settings, const TensorView& tensor) {
  const std::size_t columns = yolo_columns(settings);
  const auto shape = reading::shape_of_rank(tensor, 2);
  const bool transposable = settings.form == YoloForm::v8;
  if (shape && transposable && (*shape)[0] == columns)
    return {tensor.values, (*shape)[1], 1, (*shape)[1]};
  if (shape && (*shape)[1] == columns) return {tensor.values, (*shape)[0], columns, 1};
  const std::string length = std::to_string(columns);
  std::string wanted = "[1,N," + length + "]";
  if (transposable) wanted = "[1," + length + ",N] or " + wanted;
  wanted += " for " + std::to_string(settings.classes) + " classes";
  if (!settings.keypoints.empty())
    wanted += " and " + std::to_string(settings.keypoints.size()) + " keypoints";
  reading::refuse_shape(kYolo, tensor, wanted,
                        "set form, classes and keypoints to the model's, and export it for one "
                        "picture at a time");
}

/// Converts YOLOX's candidates from cells to pixels.
class YoloxGrid {
 public:
  YoloxGrid(const YoloSettings& settings, const ModelOutputs& outputs, const TensorView& tensor,
            std::size_t count) {
    std::size_t begin = 0;
    for (const int stride : settings.strides) {
      const auto columns = static_cast<std::size_t>(std::max(outputs.input.width, 0) / stride);
      const auto rows = static_cast<std::size_t>(std::max(outputs.input.height, 0) / stride);
      levels_.push_back({begin, columns, static_cast<double>(stride)});
      begin += columns * rows;
    }
    if (begin != count)
      reading::refuse_shape(kYolo, tensor,
                            "[1," + std::to_string(begin) + "," +
                                std::to_string(yolo_columns(settings)) + "] for an input of " +
                                std::to_string(outputs.input.width) + "x" +
                                std::to_string(outputs.input.height) + " pixels",
                            "set the strides to the model's");
  }

  /// Must be called with rising rows.
  BoundingBox box(std::size_t row, double x, double y, double width, double height) {
    while (level_ + 1 < levels_.size() && levels_[level_ + 1].begin <= row) ++level_;
    const auto& [begin, columns, stride] = levels_[level_];
    const std::size_t cell = row - begin, cells_above = cell / columns;
    const auto column = static_cast<double>(cell % columns);
    const auto line = static_cast<double>(cells_above);
    return reading::centred((column + x) * stride, (line + y) * stride, std::exp(width) * stride,
                            std::exp(height) * stride);
  }

 private:
  struct Level {
    std::size_t begin, columns;
    double stride;
  };
  std::vector<Level> levels_;
  std::size_t level_ = 0;
};

void read_end_to_end(const YoloSettings& settings, const YoloRows& rows,
                     reading::Candidates& candidates) {
  for (std::size_t row = 0; row < rows.count; ++row) {
    if (!candidates.wants(rows.at(row, 4)) || !rows.finite(row, 6)) continue;
    const double label = std::round(rows.at(row, 5));
    if (!(label >= 0 && label < static_cast<double>(settings.classes)))
      reading::refuse_label(kYolo, label, settings.classes, "set classes to the model's number");
    candidates.add({rows.at(row, 0), rows.at(row, 1), rows.at(row, 2), rows.at(row, 3)},
                   static_cast<std::size_t>(label), rows.at(row, 4));
  }
}

std::vector<Keypoint> yolo_keypoints(const YoloSettings& settings, const YoloRows& rows,
                                     std::size_t row) {
  std::vector<Keypoint> keypoints(settings.keypoints.size());
  std::size_t column = 4 + settings.classes;
  for (std::size_t k = 0; k < keypoints.size(); ++k, column += 3)
    keypoints[k] = {.name = settings.keypoints[k],
                    .point = {rows.at(row, column), rows.at(row, column + 1)},
                    .confidence = reading::probability(rows.at(row, column + 2))};
  return keypoints;
}

void read_rows(const YoloSettings& settings, const YoloRows& rows, YoloxGrid* grid,
               reading::Candidates& candidates) {
  const bool objectness = settings.form != YoloForm::v8;
  const std::size_t first = objectness ? 5 : 4;
  const std::size_t columns = yolo_columns(settings);
  const std::vector<std::size_t> best_columns = rows.best(first, settings.classes);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const std::size_t best = best_columns[row];
    double confidence = rows.at(row, best);
    if (objectness) confidence *= rows.at(row, 4);
    if (!candidates.wants(confidence) || !rows.finite(row, columns)) continue;
    const double x = rows.at(row, 0), y = rows.at(row, 1);
    const double width = rows.at(row, 2), height = rows.at(row, 3);
    candidates.add(
        grid ? grid->box(row, x, y, width, height) : reading::centred(x, y, width, height),
        best - first, confidence, yolo_keypoints(settings, rows, row));
  }
}

}  // namespace

YoloReader::YoloReader(YoloSettings settings) : settings_(std::move(settings)) {
  reading::require_classes(kYolo, settings_.classes);
  reading::require_filter(kYolo, settings_.filter);
  if (!settings_.keypoints.empty() && settings_.form != YoloForm::v8)
    reading::refuse_setting(kYolo, "only the form v8 has keypoints; leave them out");
  if (settings_.form != YoloForm::yolox) return;
  if (settings_.strides.empty())
    reading::refuse_setting(kYolo, "strides is empty; give each grid's, such as 8, 16, 32");
  for (const int stride : settings_.strides) reading::require_side(kYolo, "a stride", stride);
}

Detections YoloReader::operator()(const ModelOutputs& outputs) const {
  const TensorView& tensor = reading::output(kYolo, outputs, settings_.output);
  const YoloRows rows = yolo_rows(settings_, tensor);
  if (settings_.form == YoloForm::end_to_end) {
    DetectionFilter filter = settings_.filter;
    filter.max_overlap = 1;
    reading::Candidates candidates(outputs, filter);
    read_end_to_end(settings_, rows, candidates);
    return std::move(candidates).finish();
  }
  reading::Candidates candidates(outputs, settings_.filter);
  if (settings_.form == YoloForm::yolox) {
    YoloxGrid grid(settings_, outputs, tensor, rows.count);
    read_rows(settings_, rows, &grid, candidates);
  } else {
    read_rows(settings_, rows, nullptr, candidates);
  }
  return std::move(candidates).finish();
}

}  // namespace vcap
