// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/image/picture_map.hpp"
#include "vcap/model/detection_nodes.hpp"

namespace vcap {

/// Brings a frame to the size that a model needs, and maps what the model finds back to the frame:
///
///     vcap::Resize resize(frame.image);
///     resize.fit_both({416, 416}).pad({416, 416}, vcap::Resize::Sides::right_bottom);
///     return resize.map_back(find(resize.image()));
///
/// Each operation works on the result of the previous ones. An operation that changes nothing, and
/// every crop, shares the frame's pixels, which are never written. crop() does not change a side
/// that is short enough, and pad() does not change one that is long enough. So for any input,
/// `crop(size, …).pad(size, …)` gives exactly `size`.
///
/// The chain is kept as a PictureMap with the exact scales of the whole-pixel sizes; nothing is
/// rounded on the way.
///
/// All operations throw InvalidArgument if a width or height is not positive, and then change
/// nothing. On a temporary they return a Resize, else a reference to this one. Thread safety:
/// value.
class VCAP_EXPORT Resize {
 public:
  /// How new pixels are made from old ones; automatic is `area` if both sides shrink or stay, else
  /// `linear`. Use the one that the model was trained with.
  enum class Interpolation { automatic, nearest, linear, cubic, area };
  /// The sides at which crop() removes and pad() adds. With `all`, left and top have the smaller
  /// half of an odd number of pixels.
  enum class Sides { left_top, right_bottom, all };
  /// What map_back() does with coordinates at its end: nothing, or round once to the nearest whole
  /// pixel, halves away from zero.
  enum class Rounding { none, nearest };

  /// Throws InvalidArgument if the frame is empty.
  explicit Resize(const cv::Mat& frame, Interpolation interpolation = Interpolation::automatic);

  /// To that width, height by the aspect (rounded, at least 1).
  Resize& fit_width(int width) &;
  Resize fit_width(int width) && { return std::move(fit_width(width)); }
  /// To that height, width by the aspect (rounded, at least 1).
  Resize& fit_height(int height) &;
  Resize fit_height(int height) && { return std::move(fit_height(height)); }
  /// The largest size of the same aspect that lies within `size` (contain).
  Resize& fit_both(cv::Size size) &;
  Resize fit_both(cv::Size size) && { return std::move(fit_both(size)); }
  /// The smallest size of the same aspect that covers `size` (cover).
  Resize& fit_one(cv::Size size) &;
  Resize fit_one(cv::Size size) && { return std::move(fit_one(size)); }
  /// To exactly that size; the aspect may change.
  Resize& fit_exact(cv::Size size) &;
  Resize fit_exact(cv::Size size) && { return std::move(fit_exact(size)); }

  /// Removes what is beyond `size` at those sides.
  Resize& crop(cv::Size size, Sides sides) &;
  Resize crop(cv::Size size, Sides sides) && { return std::move(crop(size, sides)); }
  /// Keeps `size` from that point on, as far as the image reaches; throws InvalidArgument
  /// (empty_crop) if nothing is left.
  Resize& crop(cv::Size size, cv::Point from) &;
  Resize crop(cv::Size size, cv::Point from) && { return std::move(crop(size, from)); }
  /// Adds what is missing to `size` at those sides.
  Resize& pad(cv::Size size, Sides sides, const cv::Scalar& color = {}) &;
  Resize pad(cv::Size size, Sides sides, const cv::Scalar& color = {}) && {
    return std::move(pad(size, sides, color));
  }
  /// Puts the image at that point of a canvas of `size`; throws InvalidArgument if it does not fit
  /// there.
  Resize& pad(cv::Size size, cv::Point at, const cv::Scalar& color = {}) &;
  Resize pad(cv::Size size, cv::Point at, const cv::Scalar& color = {}) && {
    return std::move(pad(size, at, color));
  }

  /// Shares its pixels with this object and, if nothing was scaled or padded, with the frame.
  cv::Mat image() const { return image_; }

  /// Maps the image's points to the frame.
  const PictureMap& map() const& noexcept { return map_; }
  PictureMap map() && noexcept { return map_; }
  /// Converts a point of the image to the frame, and back.
  cv::Point2d to_frame(cv::Point2d point) const noexcept { return map_.to_frame(point); }
  cv::Point2d from_frame(cv::Point2d point) const noexcept { return map_.from_frame(point); }

  /// Converts nodes found on the image, with their children, to frame coordinates. What was found
  /// on the padding lies outside the frame. With rounding, each coordinate is rounded once, at the
  /// end.
  DetectionNodes map_back(DetectionNodes nodes, Rounding rounding = Rounding::none) const;

 private:
  Resize& scale_to(cv::Size size);
  Resize& cut(cv::Rect rect);
  Resize& place(cv::Size size, cv::Point at, const cv::Scalar& color);

  cv::Mat image_;
  Interpolation interpolation_;
  PictureMap map_{};
};

}  // namespace vcap
