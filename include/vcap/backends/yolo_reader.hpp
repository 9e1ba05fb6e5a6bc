// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "vcap/backends/detection.hpp"
#include "vcap/backends/detection_filter.hpp"
#include "vcap/backends/model_outputs.hpp"
#include "vcap/backends/output_ref.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// How a YOLO model writes its candidates. Coordinates are pixels of the model's input, and scores
/// are probabilities. C is the number of classes, K the number of keypoints.
enum class YoloForm {
  v5,          ///< [1,N,5 + C]: centre x, y, width, height, objectness, class scores; v7 too
  v8,          ///< [1,4 + C + 3K,N]: the same without objectness, then x, y, confidence; v9, v11
  end_to_end,  ///< [1,N,6]: x1, y1, x2, y2, confidence, class, duplicates removed; v10
  yolox,       ///< as v5, but offsets to a grid: centre (cell + x)·stride, size exp(w)·stride
};

/// How a YoloReader reads. Thread safety: value.
struct YoloSettings {
  YoloForm form = YoloForm::v8;
  std::size_t classes = 80;
  std::vector<std::string> keypoints{};  ///< K names, of pose models of the form v8 only
  std::vector<int> strides{8, 16, 32};   ///< of yolox's grids, in the order of their candidates
  OutputRef output{};
  DetectionFilter filter{};  ///< its suppression is not applied to the form end_to_end
};

/// Reads the YOLO family. A candidate has the label of its best class; its confidence is that
/// class's score, times the objectness if there is one.
///
/// An output of the form v8 may also be transposed: [1,N,4 + C + 3K]. The reader recognises it by
/// the length of its dimensions. If both have that length, it counts as not transposed.
///
/// Source: G. Jocher et al., YOLOv5 (2020) and YOLOv8 (2023); A. Wang et al., "YOLOv10: Real-Time
/// End-to-End Object Detection", 2024; Z. Ge et al., "YOLOX: Exceeding YOLO Series in 2021", 2021.
/// Thread-safe.
class VCAP_EXPORT YoloReader {
 public:
  /// Throws EngineError (invalid_model_spec) that names the setting at fault.
  explicit YoloReader(YoloSettings settings);

  /// Throws EngineError (model_output) if the output's shape is not that of the form with the
  /// declared classes and keypoints, or if a confident candidate's label is not one of the classes.
  Detections operator()(const ModelOutputs& outputs) const;

 private:
  YoloSettings settings_;
};

}  // namespace vcap
