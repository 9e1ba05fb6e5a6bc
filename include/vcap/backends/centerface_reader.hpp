// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "vcap/backends/detection.hpp"
#include "vcap/backends/detection_filter.hpp"
#include "vcap/backends/model_outputs.hpp"
#include "vcap/backends/output_ref.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// How a CenterfaceReader reads. Thread safety: value.
struct CenterfaceSettings {
  OutputRef heatmap{"", 0};    ///< [1,1,H,W]: confidences
  OutputRef scale{"", 1};      ///< [1,2,H,W]: height and width, as logarithms, in cells
  OutputRef offset{"", 2};     ///< [1,2,H,W]: y and x of the centre in its cell
  OutputRef landmarks{"", 3};  ///< [1,2K,H,W]: y and x of each, relative to the box
  int stride = 4;              ///< pixels of the input per cell
  std::vector<std::string> keypoints{"right_eye", "left_eye", "nose_tip", "right_mouth_corner",
                                     "left_mouth_corner"};
  DetectionFilter filter{.max_overlap = 0.3};
};

/// Reads the face detector CenterFace. A cell's box has its centre at (cell + offset + ½)·stride
/// and the size exp(scale)·stride; a landmark is relative to the box's left top and size.
///
/// Source: Y. Xu et al., "CenterFace: Joint Face Detection and Alignment Using Face as Point",
/// Scientific Programming, 2020. Thread-safe.
class VCAP_EXPORT CenterfaceReader {
 public:
  /// Throws EngineError (invalid_model_spec) that names the setting at fault.
  explicit CenterfaceReader(CenterfaceSettings settings);

  /// Detections of label 0. Throws EngineError (model_output) if an output is absent or does not
  /// fit the heat map.
  Detections operator()(const ModelOutputs& outputs) const;

 private:
  CenterfaceSettings settings_;
};

}  // namespace vcap
