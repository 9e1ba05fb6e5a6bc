// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/turned_crop.hpp"

#include <algorithm>
#include <cmath>

#include <opencv2/imgproc.hpp>

#include "base/text.hpp"
#include "image/frame_check.hpp"

namespace vcap {
namespace {

void check_box(const TurnedBox& box) {
  const auto& [centre, size, angle] = box;
  const bool is_finite = std::isfinite(centre.x) && std::isfinite(centre.y) &&
                         std::isfinite(size.width) && std::isfinite(size.height) &&
                         std::isfinite(angle);
  if (!is_finite || !(size.width > 0 && size.height > 0))
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "turned crop: the box of " + number_text(size.width) + "x" +
                              number_text(size.height) + " pixels around (" +
                              number_text(centre.x) + ", " + number_text(centre.y) +
                              "), turned by " + number_text(angle) +
                              ", needs sides > 0 and finite numbers; leave out such nodes");
}

/// The pixels of 0…limit that interpolation between first and last reads.
cv::Range read_range(double first, double last, int limit) {
  const auto inside = [limit](double x) {
    return static_cast<int>(std::clamp(x, 0.0, double(limit)));
  };
  return {inside(std::floor(first) - 1), inside(std::ceil(last) + 1)};
}

}  // namespace

TurnedBox TurnedBox::square(const BoundingBox& box, double factor, double angle) noexcept {
  const double side = factor * std::max({box.width(), box.height(), 1.0});
  return {.centre = box.centre(), .size = {side, side}, .angle = angle};
}

TurnedCrop::TurnedCrop(const cv::Mat& frame, const TurnedBox& box, cv::Size size) {
  check_frame(frame, "turned crop");
  check_size(size, "turned crop");
  check_box(box);
  const double x_scale = box.size.width / size.width, y_scale = box.size.height / size.height;
  const double cosine = std::cos(box.angle), sine = std::sin(box.angle);
  x_step_ = {x_scale * cosine, x_scale * sine};
  y_step_ = {-y_scale * sine, y_scale * cosine};
  origin_ = box.centre - size.width / 2.0 * x_step_ - size.height / 2.0 * y_step_;

  // OpenCV gets only the part that is read, because it accepts no sides above 32767 pixels.
  const double x_reach = (std::abs(x_step_.x) * size.width + std::abs(y_step_.x) * size.height) / 2;
  const double y_reach = (std::abs(x_step_.y) * size.width + std::abs(y_step_.y) * size.height) / 2;
  const cv::Range columns = read_range(box.centre.x - x_reach, box.centre.x + x_reach, frame.cols);
  const cv::Range rows = read_range(box.centre.y - y_reach, box.centre.y + y_reach, frame.rows);
  if (columns.empty() || rows.empty()) {
    image_ = cv::Mat(size, frame.type(), cv::Scalar());
    return;
  }
  // OpenCV counts from the middle of the first pixel, vcap from its edge.
  const cv::Point2d first =
      to_frame({0.5, 0.5}) - cv::Point2d(columns.start + 0.5, rows.start + 0.5);
  const cv::Matx23d from_picture(x_step_.x, y_step_.x, first.x, x_step_.y, y_step_.y, first.y);
  cv::warpAffine(frame(rows, columns), image_, from_picture, size,
                 cv::INTER_LINEAR | cv::WARP_INVERSE_MAP);
}

cv::Point2d TurnedCrop::to_frame(cv::Point2d point) const noexcept {
  return origin_ + point.x * x_step_ + point.y * y_step_;
}

Keypoint TurnedCrop::to_frame(Keypoint keypoint) const noexcept {
  keypoint.point = to_frame(keypoint.point);
  if (keypoint.z) *keypoint.z *= std::hypot(x_step_.x, x_step_.y);
  return keypoint;
}

}  // namespace vcap
