// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace vcap {

/// Which candidates of a detector its reader gives. Thread safety: value.
///
/// Readers drop each candidate with a coordinate or score that is NaN or infinite, and each box
/// without area. They give the others in pixels of the picture, by falling confidence.
struct DetectionFilter {
  double threshold = 0.5;       ///< the minimum confidence, in 0…1
  double max_overlap = 0.45;    ///< IoU of non-maximum suppression, in 0…1; 1 switches it off
  bool across_classes = false;  ///< whether a box suppresses boxes of other labels
  /// Whether boxes are cut to the picture. Boxes without a part in the picture are then dropped.
  /// Keypoints are not cut: a point outside the picture is still a part of the pose.
  bool clip = true;
  std::size_t max_candidates = 5000;  ///< how many of the best go into the suppression, > 0
  std::size_t max_detections = 1000;  ///< how many of the best are given, > 0

  bool operator==(const DetectionFilter&) const = default;
};

}  // namespace vcap
