// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <opencv2/core/types.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"
#include "vcap/model/detection_node.hpp"

namespace vcap {

/// Maps points of a resized, cropped or padded picture to the frame that it was made from.
///
/// x_frame = scale·x + shift for each axis, in doubles. Coordinates count from the edges of pixels:
/// pixel i covers [i, i + 1), so that scaling by s takes x to s·x. Thread safety: value.
struct VCAP_EXPORT PictureMap {
  double x_scale = 1, x_shift = 0;
  double y_scale = 1, y_shift = 0;

  cv::Point2d to_frame(cv::Point2d point) const noexcept;
  cv::Point2d from_frame(cv::Point2d point) const noexcept;
  BoundingBox to_frame(const BoundingBox& box) const noexcept;
  /// Moves the node's coords and keypoints, and those of all its children, into the frame.
  void to_frame(DetectionNode& node) const noexcept;

  bool operator==(const PictureMap&) const = default;
};

}  // namespace vcap
