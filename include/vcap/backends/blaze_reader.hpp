// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <opencv2/core/types.hpp>

#include "vcap/backends/detection.hpp"
#include "vcap/backends/detection_filter.hpp"
#include "vcap/backends/model_outputs.hpp"
#include "vcap/backends/output_ref.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// The anchors of a single-shot detector, as MediaPipe defines them. Thread safety: value.
///
/// Consecutive layers of the same stride share a grid of ⌈input / stride⌉ cells. For each layer, a
/// cell has an anchor of each aspect ratio. If `interpolated_aspect_ratio` is > 0, it has one more,
/// whose scale is between that of the layer and that of the next. Anchors are ordered by rows of
/// the grid.
struct BlazeAnchors {
  cv::Size input{128, 128};                 ///< the model's input in pixels
  std::vector<int> strides{8, 16, 16, 16};  ///< of each layer
  std::vector<double> aspect_ratios{1};     ///< width to height
  double interpolated_aspect_ratio = 1;     ///< 0: no additional anchor
  double offset = 0.5;                      ///< of an anchor's centre in its cell, in 0…1
  /// Whether every anchor has the size of the input, so that scales and ratios do not matter.
  bool fixed_size = true;
  double min_scale = 0.1484375, max_scale = 0.75;  ///< of the first and the last layer

  bool operator==(const BlazeAnchors&) const = default;
};

/// How a BlazeReader reads. Thread safety: value.
struct BlazeSettings {
  /// What the box of a detection is.
  enum class Box {
    network,    ///< the one that the network gives
    full_body,  ///< the square around keypoint 0 whose sides touch the circle through keypoint 1
  };
  /// What happens to boxes that overlap.
  enum class Suppression {
    best,      ///< the most confident stays
    weighted,  ///< they are replaced by their mean, weighted by confidence
  };

  OutputRef boxes{"", 0};   ///< [1,N,4 + 2K]: centre x, y, width, height, and K points
  OutputRef scores{"", 1};  ///< [1,N,1], before the sigmoid
  BlazeAnchors anchors{};
  std::vector<std::string> keypoints{};  ///< the K names in the network's order
  Box box = Box::network;
  Suppression suppression = Suppression::weighted;
  DetectionFilter filter{.threshold = 0.5, .max_overlap = 0.3};

  static VCAP_EXPORT BlazeSettings face_short_range();  ///< 128×128, 896 anchors, 6 keypoints
  static VCAP_EXPORT BlazeSettings face_full_range();   ///< 192×192, 2304 anchors, 6 keypoints
  static VCAP_EXPORT BlazeSettings palm();              ///< 192×192, 2016 anchors, 7 keypoints
  /// 224×224, 2254 anchors, 4 keypoints. Boxes are those of the full body, and may be cut to the
  /// picture.
  static VCAP_EXPORT BlazeSettings pose();
};

/// Reads BlazeFace, BlazePose's person detector, and the palm detector of MediaPipe.
///
/// Source: V. Bazarevsky et al., "BlazeFace: Sub-millisecond Neural Face Detection on Mobile GPUs",
/// CVPR workshop 2019 (anchors, and the blending of boxes); V. Bazarevsky et al., "BlazePose:
/// On-device Real-time Body Pose tracking", CVPR workshop 2020 (the circle of the full body).
/// Thread-safe.
class VCAP_EXPORT BlazeReader {
 public:
  /// Throws EngineError (invalid_model_spec) that names the setting at fault.
  explicit BlazeReader(BlazeSettings settings);

  /// Detections of label 0. Throws EngineError (model_output) if the shapes of the outputs do not
  /// fit the anchors and keypoints.
  Detections operator()(const ModelOutputs& outputs) const;

  std::size_t anchor_count() const noexcept { return anchors_.size(); }

 private:
  BlazeSettings settings_;
  std::vector<cv::Rect2d> anchors_;  // centre and size, relative to the input
};

}  // namespace vcap
