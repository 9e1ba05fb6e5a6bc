// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/resize.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <opencv2/imgproc.hpp>

#include "image/frame_check.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// The side that belongs to `other_side`, at the aspect side : other.
int by_aspect(int side, int other, int other_side) {
  const double exact = double(side) * other_side / other;
  if (exact > std::numeric_limits<int>::max())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "resize: an image of " + std::to_string(side) + " to " +
                              std::to_string(other) + " pixels, its aspect kept, cannot have " +
                              std::to_string(other_side) +
                              " at the shorter side; crop it first or give an exact size");
  return std::max(1, static_cast<int>(std::lround(exact)));
}

bool wider_than(cv::Size a, cv::Size b) {
  return std::int64_t{a.width} * b.height > std::int64_t{b.width} * a.height;
}

int flag_of(Resize::Interpolation interpolation, cv::Size from, cv::Size to) {
  switch (interpolation) {
    case Resize::Interpolation::nearest:
      return cv::INTER_NEAREST;
    case Resize::Interpolation::linear:
      return cv::INTER_LINEAR;
    case Resize::Interpolation::cubic:
      return cv::INTER_CUBIC;
    case Resize::Interpolation::area:
      return cv::INTER_AREA;
    case Resize::Interpolation::automatic:
      break;
  }
  const bool shrinks = to.width <= from.width && to.height <= from.height;
  return shrinks ? cv::INTER_AREA : cv::INTER_LINEAR;
}

/// How much of a difference in size goes to the left or top.
int before(int difference, Resize::Sides sides) {
  switch (sides) {
    case Resize::Sides::left_top:
      return difference;
    case Resize::Sides::right_bottom:
      return 0;
    case Resize::Sides::all:
      break;
  }
  return difference / 2;
}

std::string text(cv::Size size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

std::string text(cv::Point point) {
  return "(" + std::to_string(point.x) + ", " + std::to_string(point.y) + ")";
}

void round_points(DetectionNode& node) {
  const auto round = [](cv::Point2d& point) { point = {std::round(point.x), std::round(point.y)}; };
  for (cv::Point2d& point : node.coords) round(point);
  for (Keypoint& keypoint : node.keypoints) round(keypoint.point);
  for (DetectionNode& child : node.children) round_points(child);
}

}  // namespace

Resize::Resize(const cv::Mat& frame, Interpolation interpolation)
    : image_(frame), interpolation_(interpolation) {
  check_frame(frame, "resize");
}

Resize& Resize::fit_width(int width) & {
  check_size({width, 1}, "resize to a width");
  return scale_to({width, by_aspect(image_.rows, image_.cols, width)});
}

Resize& Resize::fit_height(int height) & {
  check_size({1, height}, "resize to a height");
  return scale_to({by_aspect(image_.cols, image_.rows, height), height});
}

Resize& Resize::fit_both(cv::Size size) & {
  check_size(size, "resize to fit within");
  return wider_than(image_.size(), size) ? fit_width(size.width) : fit_height(size.height);
}

Resize& Resize::fit_one(cv::Size size) & {
  check_size(size, "resize to cover");
  return wider_than(image_.size(), size) ? fit_height(size.height) : fit_width(size.width);
}

Resize& Resize::fit_exact(cv::Size size) & {
  check_size(size, "resize");
  return scale_to(size);
}

Resize& Resize::crop(cv::Size size, Sides sides) & {
  check_size(size, "crop");
  const cv::Size kept(std::min(size.width, image_.cols), std::min(size.height, image_.rows));
  return cut({before(image_.cols - kept.width, sides), before(image_.rows - kept.height, sides),
              kept.width, kept.height});
}

Resize& Resize::crop(cv::Size size, cv::Point from) & {
  check_size(size, "crop");
  // Computes ends in 64 bits: the sum of a point and a size may exceed the range of int.
  const auto end = [](int begin, int length, int limit) {
    return static_cast<int>(std::min(std::int64_t{begin} + length, std::int64_t{limit}));
  };
  const cv::Point begin(std::max(from.x, 0), std::max(from.y, 0));
  const cv::Point last(end(from.x, size.width, image_.cols), end(from.y, size.height, image_.rows));
  if (begin.x >= last.x || begin.y >= last.y)
    throw InvalidArgument(ErrorCode::empty_crop, "crop: " + text(size) + " from " + text(from) +
                                                     " has no pixel in common with the image of " +
                                                     text(image_.size()));
  return cut({begin, last});
}

Resize& Resize::pad(cv::Size size, Sides sides, const cv::Scalar& color) & {
  check_size(size, "pad");
  const cv::Size canvas(std::max(size.width, image_.cols), std::max(size.height, image_.rows));
  return place(
      canvas,
      {before(canvas.width - image_.cols, sides), before(canvas.height - image_.rows, sides)},
      color);
}

Resize& Resize::pad(cv::Size size, cv::Point at, const cv::Scalar& color) & {
  check_size(size, "pad");
  const bool fits = at.x >= 0 && at.y >= 0 && at.x <= size.width - image_.cols &&
                    at.y <= size.height - image_.rows;
  if (!fits)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "pad: the image of " + text(image_.size()) + " at " + text(at) +
                              " does not lie within " + text(size) + "; crop or scale it first");
  return place(size, at, color);
}

DetectionNodes Resize::map_back(DetectionNodes nodes, Rounding rounding) const {
  for (DetectionNode& node : nodes) {
    map_.to_frame(node);
    if (rounding == Rounding::nearest) round_points(node);
  }
  return nodes;
}

Resize& Resize::scale_to(cv::Size size) {
  const cv::Size from = image_.size();
  if (size == from) return *this;
  cv::Mat scaled;
  cv::resize(image_, scaled, size, 0, 0, flag_of(interpolation_, from, size));
  image_ = scaled;
  map_.x_scale *= double(from.width) / size.width;
  map_.y_scale *= double(from.height) / size.height;
  return *this;
}

Resize& Resize::cut(cv::Rect rect) {
  image_ = image_(rect);
  map_.x_shift += map_.x_scale * rect.x;
  map_.y_shift += map_.y_scale * rect.y;
  return *this;
}

Resize& Resize::place(cv::Size size, cv::Point at, const cv::Scalar& color) {
  if (size == image_.size()) return *this;
  cv::Mat canvas;
  // Isolated: otherwise a cropped image would be padded with the pixels that were cropped away.
  cv::copyMakeBorder(image_, canvas, at.y, size.height - image_.rows - at.y, at.x,
                     size.width - image_.cols - at.x, cv::BORDER_CONSTANT | cv::BORDER_ISOLATED,
                     color);
  image_ = canvas;
  map_.x_shift -= map_.x_scale * at.x;
  map_.y_shift -= map_.y_scale * at.y;
  return *this;
}

}  // namespace vcap
