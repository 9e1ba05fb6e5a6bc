// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "vcap/backends/detection.hpp"
#include "vcap/backends/detection_filter.hpp"
#include "vcap/backends/model_outputs.hpp"
#include "vcap/backends/output_ref.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// How an SsdReader reads. Thread safety: value.
struct SsdSettings {
  OutputRef output{};
  std::size_t classes = 1;  ///< how many labels the list has
  /// Subtracted from the model's label to get the index into the list: 1 if label 0 is the
  /// background. Detections with a smaller label are dropped.
  std::size_t label_offset = 0;
  DetectionFilter filter{.max_overlap = 1};  ///< such models suppress duplicates themselves
};

/// Reads detections that the model has decoded itself, as in the layer DetectionOutput of OpenVINO
/// and Caffe. The output is [1,1,N,7] with the columns image number, label, confidence, x1, y1, x2,
/// y2. Coordinates are relative to the input. A row with a negative image number ends the list.
///
/// Source: W. Liu et al., "SSD: Single Shot MultiBox Detector", ECCV 2016. Thread-safe.
class VCAP_EXPORT SsdReader {
 public:
  /// Throws EngineError (invalid_model_spec) that names the setting at fault.
  explicit SsdReader(SsdSettings settings);

  /// Throws EngineError (model_output) if the output has another shape, or if a confident
  /// detection's label is not in the list.
  Detections operator()(const ModelOutputs& outputs) const;

 private:
  SsdSettings settings_;
};

/// How a TfDetectionReader reads. Thread safety: value.
struct TfDetectionSettings {
  OutputRef boxes{"", 0};       ///< [1,N,4]: y1, x1, y2, x2 relative to the input
  OutputRef classes_of{"", 1};  ///< [1,N]: labels
  OutputRef scores{"", 2};      ///< [1,N]: confidences
  std::optional<OutputRef> count = OutputRef{"", 3};  ///< [1]: how many of the N are valid
  std::size_t classes = 1;                            ///< how many labels the list has
  std::size_t label_offset = 0;  ///< as in SsdSettings: 1 for models in TensorFlow's own format
  DetectionFilter filter{.max_overlap = 1};  ///< such models suppress duplicates themselves
};

/// Reads the outputs of TensorFlow's object detection API, and of TensorFlow Lite's operation
/// TFLite_Detection_PostProcess, whose order of outputs is the default here. Thread-safe.
class VCAP_EXPORT TfDetectionReader {
 public:
  /// Throws EngineError (invalid_model_spec) that names the setting at fault.
  explicit TfDetectionReader(TfDetectionSettings settings);

  /// Throws EngineError (model_output) if the outputs do not fit each other, or if a confident
  /// detection's label is not in the list.
  Detections operator()(const ModelOutputs& outputs) const;

 private:
  TfDetectionSettings settings_;
};

}  // namespace vcap
