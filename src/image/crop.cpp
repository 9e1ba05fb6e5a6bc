// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/crop.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// Sums, such as those of padding by percent, differ from the edge of a pixel by less than this.
constexpr double kRoundingError = 1e-6;

struct Span {
  int begin, end;
};

/// The pixels of 0…size that begin…end touches. Clamps before the conversion to int: a box may be
/// outside the range of int. NaN gives an empty span.
Span touched(double begin, double end, int size) {
  if (!(begin < end)) return {0, 0};
  const auto inside = [size](double x) { return std::clamp(x, 0.0, double(size)); };
  return {static_cast<int>(inside(std::floor(begin + kRoundingError))),
          static_cast<int>(inside(std::ceil(end - kRoundingError)))};
}

}  // namespace

Crop Crop::from_node(const DetectionNode& node) { return Crop(node.bbox()); }

Crop Crop::from_box(const BoundingBox& box) { return Crop(box); }

Crop Crop::pad_percent(const Padding& percent) const {
  const double x = box_.width() / 100, y = box_.height() / 100;
  return pad_px({.top = percent.top * y,
                 .bottom = percent.bottom * y,
                 .left = percent.left * x,
                 .right = percent.right * x});
}

Crop Crop::pad_px(const Padding& pixels) const {
  return Crop({.x1 = box_.x1 - pixels.left,
               .y1 = box_.y1 - pixels.top,
               .x2 = box_.x2 + pixels.right,
               .y2 = box_.y2 + pixels.bottom});
}

Crop Crop::pad_to_square() const {
  const double side = std::max(box_.width(), box_.height());
  const double x = (side - box_.width()) / 2, y = (side - box_.height()) / 2;
  return pad_px({.top = y, .bottom = y, .left = x, .right = x});
}

/// Empty if the two have no pixel in common.
cv::Rect Crop::part_of(cv::Size frame) const noexcept {
  const Span x = touched(box_.x1, box_.x2, frame.width);
  const Span y = touched(box_.y1, box_.y2, frame.height);
  if (x.begin >= x.end || y.begin >= y.end) return {};
  return {x.begin, y.begin, x.end - x.begin, y.end - y.begin};
}

cv::Rect Crop::rect(cv::Size frame) const {
  const cv::Rect part = part_of(frame);
  if (part.empty()) {
    throw InvalidArgument(ErrorCode::empty_crop,
                          "crop: the box x " + number_text(box_.x1) + " to " +
                              number_text(box_.x2) + ", y " + number_text(box_.y1) + " to " +
                              number_text(box_.y2) + " has no pixel in common with the frame of " +
                              std::to_string(frame.width) + "x" + std::to_string(frame.height) +
                              "; leave out nodes without area or outside the frame, as "
                              "crop_nodes() and try_apply() do");
  }
  return part;
}

cv::Mat Crop::apply(const cv::Mat& frame) const { return frame(rect(frame.size())); }

std::optional<cv::Mat> Crop::try_apply(const cv::Mat& frame) const {
  const cv::Rect part = part_of(frame.size());
  if (part.empty()) return std::nullopt;
  return frame(part);
}

}  // namespace vcap
