// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/detection_nodes.hpp"

namespace vcap {

/// A frame scaled down, where it is larger, to a greatest width and height, its aspect kept:
///
///     vcap::Clamp clamp(frame.image, 640, 640);
///     return clamp.scale_nodes(find(clamp.image()));
///
/// A frame that fits is not scaled, and then the image shares its pixels. Else each pixel is the
/// mean of those it covers (INTER_AREA), without aliasing. Thread safety: value.
class VCAP_EXPORT Clamp {
 public:
  /// Throws InvalidArgument where the frame is empty or a bound is not positive.
  Clamp(const cv::Mat& frame, int max_width, int max_height);

  /// Shares its pixels with this and, where nothing was scaled or padded, with the frame.
  cv::Mat image() const { return image_; }

  /// The frame's width over the image's, and the same of the heights. They may differ a little,
  /// since the image has whole pixels.
  double x_factor() const noexcept { return x_factor_; }
  double y_factor() const noexcept { return y_factor_; }

  /// Nodes found on the image, with their children, where they are in the frame; not rounded.
  DetectionNodes scale_nodes(DetectionNodes nodes) const;

 private:
  cv::Mat image_;
  double x_factor_ = 1;
  double y_factor_ = 1;
};

}  // namespace vcap
