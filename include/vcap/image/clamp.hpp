// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/detection_nodes.hpp"

namespace vcap {

/// Scales a frame down if it is larger than a maximum width or height, and keeps its aspect:
///
///     vcap::Clamp clamp(frame.image, 640, 640);
///     return clamp.scale_nodes(find(clamp.image()));
///
/// A frame that fits is not scaled, and the image shares its pixels. Else each pixel is the mean of
/// the pixels that it covers (INTER_AREA), without aliasing. Thread safety: value.
class VCAP_EXPORT Clamp {
 public:
  /// Throws InvalidArgument if the frame is empty or a bound is not positive.
  Clamp(const cv::Mat& frame, int max_width, int max_height);

  /// Shares its pixels with this object and, if nothing was scaled, with the frame.
  cv::Mat image() const { return image_; }

  /// The frame's width divided by the image's width, and the same for the heights. They may differ
  /// a little, because the image has whole pixels.
  double x_factor() const noexcept { return x_factor_; }
  double y_factor() const noexcept { return y_factor_; }

  /// Converts nodes found on the image, with their children, to frame coordinates; does not round.
  DetectionNodes scale_nodes(DetectionNodes nodes) const;

 private:
  cv::Mat image_;
  double x_factor_ = 1;
  double y_factor_ = 1;
};

}  // namespace vcap
