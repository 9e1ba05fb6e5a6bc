// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "vcap/backends/detection.hpp"
#include "vcap/backends/detection_filter.hpp"
#include "vcap/backends/model_outputs.hpp"
#include "vcap/backends/output_ref.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// How a DetrReader reads. Thread safety: value.
struct DetrSettings {
  /// How the model's class scores become confidences.
  enum class Scores {
    softmax,  ///< over C classes and, in the last place, "no object": DETR
    sigmoid,  ///< of each of C classes: Deformable DETR, RT-DETR
  };

  OutputRef logits{"", 0};  ///< [1,Q,C] or, with "no object", [1,Q,C + 1]
  OutputRef boxes{"", 1};   ///< [1,Q,4]: centre x, y, width, height relative to the input
  Scores scores = Scores::softmax;
  std::size_t classes = 80;                  ///< C, without "no object"
  DetectionFilter filter{.max_overlap = 1};  ///< such models give no duplicates
};

/// Reads transformers that detect with a fixed number of queries. A query has the label of its best
/// class.
///
/// Source: N. Carion et al., "End-to-End Object Detection with Transformers", ECCV 2020; Y. Zhao et
/// al., "DETRs Beat YOLOs on Real-time Object Detection", CVPR 2024. Thread-safe.
class VCAP_EXPORT DetrReader {
 public:
  /// Throws EngineError (invalid_model_spec) that names the setting at fault.
  explicit DetrReader(DetrSettings settings);

  /// Throws EngineError (model_output) if the outputs do not fit the classes or each other.
  Detections operator()(const ModelOutputs& outputs) const;

 private:
  DetrSettings settings_;
};

}  // namespace vcap
