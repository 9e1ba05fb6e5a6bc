// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "vcap/backends/detection.hpp"
#include "vcap/backends/detection_filter.hpp"
#include "vcap/backends/model_outputs.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// How a YunetReader reads. Thread safety: value.
struct YunetSettings {
  std::vector<int> strides{8, 16, 32};
  /// Whether outputs are found by name: cls_8, obj_8, bbox_8, kps_8, cls_16 and so on. Otherwise
  /// they are found by index: the class scores of all strides, then objectness, boxes and
  /// keypoints.
  bool by_name = true;
  std::vector<std::string> keypoints{"right_eye", "left_eye", "nose_tip", "right_mouth_corner",
                                     "left_mouth_corner"};
  DetectionFilter filter{.threshold = 0.7, .max_overlap = 0.3};
};

/// Reads the face detector YuNet of OpenCV's model zoo (face_detection_yunet_2023mar).
///
/// For each stride s, over a grid of (padded input / s) cells: class scores and objectness [1,N,1],
/// boxes [1,N,4] and K keypoints [1,N,2K]. The confidence is √(class·objectness), a box's centre
/// (cell + x)·s, its size exp(w)·s, and a keypoint (cell + x)·s. The padded input is the next
/// multiple of the greatest stride.
///
/// Source: W. Wu et al., "YuNet: A Tiny Millisecond-level Face Detector", Machine Intelligence
/// Research 20, 2023. Thread-safe.
class VCAP_EXPORT YunetReader {
 public:
  /// Throws EngineError (invalid_model_spec) that names the setting at fault.
  explicit YunetReader(YunetSettings settings);

  /// Detections of label 0. Throws EngineError (model_output) if an output is absent or does not
  /// fit the input's size.
  Detections operator()(const ModelOutputs& outputs) const;

 private:
  YunetSettings settings_;
};

}  // namespace vcap
