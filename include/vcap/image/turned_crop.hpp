// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"
#include "vcap/model/keypoint.hpp"

namespace vcap {

/// A rectangle in a frame that may be turned, such as one around a face that is tilted.
/// Thread safety: value.
struct VCAP_EXPORT TurnedBox {
  cv::Point2d centre{};  ///< in pixels of the frame
  cv::Size2d size{};     ///< of its sides, in pixels of the frame; both > 0
  double angle = 0;      ///< in radians, clockwise as the frame is seen

  /// The square around a box's centre whose side is `factor` times the box's longer side, or times
  /// a pixel if the box is smaller than that.
  static TurnedBox square(const BoundingBox& box, double factor, double angle = 0) noexcept;

  bool operator==(const TurnedBox&) const = default;
};

/// The part of a frame within a turned box as an upright picture of the size that a model wants,
/// and the way back for what the model finds:
///
///     const auto box = vcap::TurnedBox::square(face.bbox(), 1.5, angle);
///     const vcap::TurnedCrop crop(frame.image, box, {192, 192});
///     for (const vcap::Keypoint& keypoint : find(crop.image()))
///       face.keypoints.push_back(crop.to_frame(keypoint));
///
/// Pixels are made by linear interpolation; beyond the frame they are black. Crop gives an upright
/// part without a copy. Thread safety: value.
class VCAP_EXPORT TurnedCrop {
 public:
  /// Throws InvalidArgument if the frame is empty, a side of `size` is below 1, or a number of the
  /// box is not finite or a side of it not > 0.
  TurnedCrop(const cv::Mat& frame, const TurnedBox& box, cv::Size size);

  /// Of the frame's type and of the size that was asked for; copies share its pixels.
  cv::Mat image() const { return image_; }

  /// The point of the frame that a point of the picture shows; pixel i covers [i, i + 1).
  cv::Point2d to_frame(cv::Point2d point) const noexcept;
  /// The same with its depth, which has the scale of the picture's x.
  Keypoint to_frame(Keypoint keypoint) const noexcept;

 private:
  cv::Point2d origin_, x_step_, y_step_;  // the left top, and what a pixel is, in the frame
  cv::Mat image_;
};

}  // namespace vcap
