// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <opencv2/core/matx.hpp>

#include "vcap/backends/detection.hpp"
#include "vcap/backends/detection_filter.hpp"
#include "vcap/backends/model_outputs.hpp"
#include "vcap/backends/output_ref.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// The anchors of a feature pyramid. Thread safety: value.
///
/// Level l has a grid of ⌈input / 2^l⌉ cells. Each cell has an anchor for each scale and ratio. An
/// anchor's area is (size·2^l·scale)², and its height is ratio times its width. Anchors are ordered
/// by level, then by rows of the grid, then as `scales_first` says.
struct PyramidAnchors {
  int first_level = 3, last_level = 7;
  double size = 4;  ///< of an anchor of scale 1, in cells
  std::vector<double> scales{1, 1.2599210498948732, 1.5874010519681994};  ///< 2^0, 2^⅓, 2^⅔
  std::vector<double> ratios{0.5, 1, 2};                                  ///< height to width
  bool scales_first = false;  ///< whether all ratios of a scale come before the next scale
  double offset = 0.5;        ///< of an anchor's centre in its cell, in 0…1

  bool operator==(const PyramidAnchors&) const = default;
};

/// How an AnchorReader reads. Thread safety: value.
struct AnchorSettings {
  /// The meaning of a candidate's four numbers. Each is multiplied by its variance.
  enum class Code {
    centre_size,  ///< moves the centre by dx·width, dy·height; sizes are multiplied by exp(dw),
                  ///< exp(dh)
    corners,      ///< moves x1 by dx1·width and y1 by dy1·height; x2 and y2 likewise
  };

  OutputRef boxes{"", 0};   ///< [1,N,4]
  OutputRef scores{"", 1};  ///< [1,N,C]
  std::size_t classes = 80;
  bool sigmoid = false;  ///< whether scores are logits instead of probabilities
  Code code = Code::centre_size;
  bool y_first = false;  ///< whether y comes before x, and height before width, as in EfficientDet
  cv::Vec4d variances{1, 1, 1, 1};  ///< in the order of x, y, width, height, or x1, y1, x2, y2
  PyramidAnchors anchors{};
  DetectionFilter filter{};
};

/// Reads one-stage detectors over a feature pyramid, such as RetinaNet and EfficientDet. A
/// candidate has the label of its best class.
///
/// Source: T.-Y. Lin et al., "Focal Loss for Dense Object Detection", ICCV 2017. Thread-safe.
class VCAP_EXPORT AnchorReader {
 public:
  /// Throws EngineError (invalid_model_spec) that names the setting at fault.
  explicit AnchorReader(AnchorSettings settings);

  /// Throws EngineError (model_output) if the outputs do not fit the classes, or the anchors of the
  /// input's size.
  Detections operator()(const ModelOutputs& outputs) const;

 private:
  AnchorSettings settings_;
  std::vector<cv::Vec2d> shapes_;  // width and height of a cell's anchors, in cells
};

}  // namespace vcap
