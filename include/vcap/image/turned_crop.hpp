// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"
#include "vcap/model/keypoint.hpp"

namespace vcap {

/// A rectangle in a frame that may be rotated, such as one around a tilted face. Thread safety:
/// value.
struct VCAP_EXPORT TurnedBox {
  cv::Point2d centre{};  ///< in pixels of the frame
  cv::Size2d size{};     ///< of its sides, in pixels of the frame; both > 0
  double angle = 0;      ///< in radians, clockwise as the frame is seen

  /// The square around a box's centre whose side is `factor` times the box's longer side, which
  /// counts as at least one pixel.
  static TurnedBox square(const BoundingBox& box, double factor, double angle = 0) noexcept;

  bool operator==(const TurnedBox&) const = default;
};

/// The part of a frame within a turned box, as an upright picture of the size that a model needs.
/// It maps what the model finds back to the frame:
///
///     const auto box = vcap::TurnedBox::square(face.bbox(), 1.5, angle);
///     const vcap::TurnedCrop crop(frame.image, box, {192, 192});
///     for (const vcap::Keypoint& keypoint : find(crop.image()))
///       face.keypoints.push_back(crop.to_frame(keypoint));
///
/// Pixels are interpolated linearly; beyond the frame they are black. Crop gives an upright part
/// without a copy. Thread safety: value.
class VCAP_EXPORT TurnedCrop {
 public:
  /// Throws InvalidArgument if the frame is empty, a side of `size` is below 1, a number of the box
  /// is not finite, or a side of the box is not > 0.
  TurnedCrop(const cv::Mat& frame, const TurnedBox& box, cv::Size size);

  /// Has the frame's type and the requested size; copies share its pixels.
  cv::Mat image() const { return image_; }

  /// The point of the frame that a point of the picture shows; pixel i covers [i, i + 1).
  cv::Point2d to_frame(cv::Point2d point) const noexcept;
  /// The same with its depth, which has the scale of the picture's x.
  Keypoint to_frame(Keypoint keypoint) const noexcept;

 private:
  cv::Point2d origin_, x_step_, y_step_;  // top left, and one pixel along x and y, in the frame
  cv::Mat image_;
};

}  // namespace vcap
