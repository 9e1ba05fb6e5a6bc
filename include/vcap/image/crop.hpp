// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/detection_node.hpp"

namespace vcap {

/// The part of a frame around a node or a box, with optional padding:
///
///     cv::Mat face = vcap::Crop::from_node(node).pad_percent({.top = 20}).apply(frame.image);
///
/// It holds every pixel of the frame that the box touches by more than a millionth of a pixel, so
/// that rounding errors add no pixels. Thread safety: value.
class VCAP_EXPORT Crop {
 public:
  /// How much is added at each side; a negative amount removes.
  struct Padding {
    double top = 0, bottom = 0, left = 0, right = 0;
  };

  /// The box around the node's coords; throws InvalidArgument if it has no coords.
  static Crop from_node(const DetectionNode& node);
  static Crop from_box(const BoundingBox& box);

  /// Pads by percent of the current box: 10 adds a tenth of its height at the top or bottom, of its
  /// width at the left or right.
  Crop pad_percent(const Padding& percent) const;
  Crop pad_px(const Padding& pixels) const;
  /// Pads the shorter sides evenly, until the box is a square.
  Crop pad_to_square() const;

  /// The box with all padding so far, not yet cut to a frame.
  const BoundingBox& box() const& noexcept { return box_; }
  BoundingBox box() && noexcept { return box_; }

  /// The pixels that apply() gives for a frame of that size. A node found on the crop lies at
  /// `rect(size).tl()` in the frame (DetectionNode::offset). Throws InvalidArgument (empty_crop),
  /// which names box and frame, if the two have no pixel in common.
  cv::Rect rect(cv::Size frame) const;

  /// A view of the frame's pixels, no copy; throws like rect().
  cv::Mat apply(const cv::Mat& frame) const;
  /// The same, but `nullopt` if box and frame have no pixel in common. For boxes that may be wrong;
  /// crop_nodes() does it for many nodes.
  std::optional<cv::Mat> try_apply(const cv::Mat& frame) const;

 private:
  cv::Rect part_of(cv::Size frame) const noexcept;
  explicit Crop(const BoundingBox& box) : box_(box) {}

  BoundingBox box_;
};

}  // namespace vcap
