// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/detection_node.hpp"

namespace vcap {

/// The part of a frame around a node or a box, padded where asked:
///
///     cv::Mat face = vcap::Crop::from_node(node).pad_percent({.top = 20}).apply(frame.image);
///
/// It holds every pixel that the box touches (by more than a millionth of a pixel, so that rounding
/// errors add none) and that the frame has. Thread safety: value.
class VCAP_EXPORT Crop {
 public:
  /// How much is added at each side; a negative amount takes away.
  struct Padding {
    double top = 0, bottom = 0, left = 0, right = 0;
  };

  /// The box around the node's coords; throws InvalidArgument where there are none.
  static Crop from_node(const DetectionNode& node);
  static Crop from_box(const BoundingBox& box);

  /// Pads by hundredths of the box as it is now: 10 adds a tenth of its height at the top or
  /// bottom, of its width at the left or right.
  Crop pad_percent(const Padding& percent) const;
  Crop pad_px(const Padding& pixels) const;
  /// Pads the shorter sides evenly, until the box is a square.
  Crop pad_to_square() const;

  /// The box as padded so far, not yet cut to a frame.
  const BoundingBox& box() const noexcept { return box_; }

  /// The pixels of a frame of that size that apply() gives; a node found on the crop lies at
  /// `rect(size).tl()` in the frame (DetectionNode::offset). Throws InvalidArgument (empty_crop)
  /// naming box and frame where the two have no pixel in common.
  cv::Rect rect(cv::Size frame) const;

  /// A view of the frame's pixels, no copy; throws like rect().
  cv::Mat apply(const cv::Mat& frame) const;

 private:
  explicit Crop(const BoundingBox& box) : box_(box) {}

  BoundingBox box_;
};

}  // namespace vcap
