// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/picture_input.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <utility>

#include <opencv2/imgproc.hpp>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

[[noreturn]] void refuse_input(const std::string& what) {
  throw EngineError(ErrorCode::invalid_model_spec, "the model's input: " + what);
}

std::string text(double value) {
  std::ostringstream stream;
  stream << value;
  return std::move(stream).str();
}

std::string text(cv::Size size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

void check_channels(const std::vector<double>& values, const std::string& field,
                    PictureInput::Colors colors) {
  const std::size_t channels = colors == PictureInput::Colors::gray ? 1 : 3;
  if (values.size() != 1 && values.size() != channels)
    refuse_input(field + " has " + std::to_string(values.size()) + " numbers; give one, or " +
                 std::to_string(channels) + ", one for each channel");
  // Models calculate in floats: a double may become 0 or infinite there.
  for (const double value : values)
    if (!std::isfinite(static_cast<float>(value)))
      refuse_input(field + " has " + text(value) + "; give numbers that a 32-bit float can hold");
}

int flag_of(PictureInput::Interpolation interpolation) {
  switch (interpolation) {
    case PictureInput::Interpolation::linear:
      return cv::INTER_LINEAR;
    case PictureInput::Interpolation::area:
      return cv::INTER_AREA;
    case PictureInput::Interpolation::nearest:
      return cv::INTER_NEAREST;
    case PictureInput::Interpolation::cubic:
      return cv::INTER_CUBIC;
  }
  return cv::INTER_LINEAR;
}

/// The part of the picture that is read, and the part of the target that it fills.
struct Placement {
  cv::Rect from, to;
};

int scaled(int side, double scale, int limit) {
  return std::clamp(static_cast<int>(std::lround(side * scale)), 1, limit);
}

Placement place(cv::Size picture, cv::Size target, PictureInput::Fit fit) {
  using Fit = PictureInput::Fit;
  const cv::Rect whole({}, picture), all({}, target);
  const double x = double(target.width) / picture.width, y = double(target.height) / picture.height;
  if (fit == Fit::stretch || picture == target) return {whole, all};
  if (fit == Fit::crop_centre) {
    const double scale = std::max(x, y);
    const cv::Size kept(scaled(target.width, 1 / scale, picture.width),
                        scaled(target.height, 1 / scale, picture.height));
    return {{(picture.width - kept.width) / 2, (picture.height - kept.height) / 2, kept.width,
             kept.height},
            all};
  }
  const double scale = std::min(x, y);
  const cv::Size filled(scaled(picture.width, scale, target.width),
                        scaled(picture.height, scale, target.height));
  const bool corner = fit == Fit::letterbox_corner;
  return {whole,
          {corner ? 0 : (target.width - filled.width) / 2,
           corner ? 0 : (target.height - filled.height) / 2, filled.width, filled.height}};
}

void fill_padding(cv::Mat& target, const cv::Rect& inside, double value) {
  const cv::Scalar color = cv::Scalar::all(value);
  const int right = inside.x + inside.width, bottom = inside.y + inside.height;
  target.rowRange(0, inside.y).setTo(color);
  target.rowRange(bottom, target.rows).setTo(color);
  target(cv::Range(inside.y, bottom), cv::Range(0, inside.x)).setTo(color);
  target(cv::Range(inside.y, bottom), cv::Range(right, target.cols)).setTo(color);
}

/// Converts a picture of one or four channels to three. Other pictures are returned as they are.
cv::Mat as_bgr(const cv::Mat& picture) {
  if (picture.channels() == 3) return picture;
  cv::Mat bgr;
  cv::cvtColor(picture, bgr, picture.channels() == 1 ? cv::COLOR_GRAY2BGR : cv::COLOR_BGRA2BGR);
  return bgr;
}

}  // namespace

void validate(const PictureInput& input) {
  check_channels(input.mean, "mean", input.colors);
  check_channels(input.scale, "scale", input.colors);
  for (const double scale : input.scale)
    if (!std::isnormal(static_cast<float>(scale)))
      refuse_input("scale has " + text(scale) +
                   "; values are divided by it, so give 1 for no scaling");
  if (!(input.padding >= 0 && input.padding <= 255))
    refuse_input("padding " + text(input.padding) +
                 " is not within 0 to 255, the values of a pixel");
  constexpr int kLongestSide = 1 << 14;
  for (const cv::Size& size : input.sizes)
    if (size.width < 1 || size.height < 1 || size.width > kLongestSide ||
        size.height > kLongestSide)
      refuse_input("size " + text(size) + " is not within 1 to " + std::to_string(kLongestSide) +
                   " pixels for each side");
  const auto larger = [](cv::Size a, cv::Size b) { return a.area() >= b.area(); };
  if (std::ranges::adjacent_find(input.sizes, larger) != input.sizes.end())
    refuse_input(
        "sizes are not in rising order of their areas; sort them and leave out repetitions");
}

std::size_t choose_size(const std::vector<cv::Size>& sizes, cv::Size picture,
                        PictureInput::Fit fit) {
  if (fit == PictureInput::Fit::letterbox || fit == PictureInput::Fit::letterbox_corner) {
    // The first size that is wide enough if the picture fills its height and keeps its aspect.
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const double width = double(picture.width) * sizes[i].height / picture.height;
      if (width <= sizes[i].width + 0.5) return i;
    }
  } else {
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (picture.width <= sizes[i].width && picture.height <= sizes[i].height) return i;
  }
  return sizes.size() - 1;
}

PictureMap fit_picture(const cv::Mat& picture, const PictureInput& input, cv::Mat& target) {
  const int channels = picture.channels();
  if (picture.empty() || picture.dims != 2 || picture.depth() != CV_8U ||
      (channels != 1 && channels != 3 && channels != 4))
    throw EngineError(ErrorCode::model_input,
                      "the picture for a model is " + text(picture.size()) + " with " +
                          std::to_string(channels) + " channels of depth " +
                          std::to_string(picture.depth()) +
                          "; give one that is not empty, 8-bit, with 1, 3 or 4 channels");
  const Placement placement = place(picture.size(), target.size(), input.fit);
  cv::Mat source = as_bgr(picture(placement.from));
  cv::Mat filled = target(placement.to);
  if (source.size() == filled.size())
    source.copyTo(filled);
  else
    cv::resize(source, filled, filled.size(), 0, 0, flag_of(input.interpolation));
  fill_padding(target, placement.to, input.padding);
  PictureMap map;
  map.x_scale = double(placement.from.width) / placement.to.width;
  map.y_scale = double(placement.from.height) / placement.to.height;
  map.x_shift = placement.from.x - map.x_scale * placement.to.x;
  map.y_shift = placement.from.y - map.y_scale * placement.to.y;
  return map;
}

}  // namespace vcap
