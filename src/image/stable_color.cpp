// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/stable_color.hpp"

#include <cstdint>

namespace vcap {

cv::Scalar stable_color(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;

  // Any hue, converted from HSV to BGR with whole numbers, so that all machines round alike. Two
  // levels each of saturation and brightness distinguish colours of similar hue.
  const int hue = static_cast<int>(hash % 360);
  const int saturation = (hash >> 40) % 2 == 0 ? 90 : 60;
  const int value = (hash >> 41) % 2 == 0 ? 255 : 210;
  const int part = hue % 60;
  const int low = value * (100 - saturation) / 100;
  const int falling = value * (6000 - saturation * part) / 6000;
  const int rising = value * (6000 - saturation * (60 - part)) / 6000;
  switch (hue / 60) {
    case 0:
      return cv::Scalar(low, rising, value);
    case 1:
      return cv::Scalar(low, value, falling);
    case 2:
      return cv::Scalar(rising, value, low);
    case 3:
      return cv::Scalar(value, falling, low);
    case 4:
      return cv::Scalar(value, low, rising);
    default:
      return cv::Scalar(falling, low, value);
  }
}

}  // namespace vcap
