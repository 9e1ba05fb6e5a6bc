// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include <opencv2/imgproc.hpp>

#include "vcap/sources/source.hpp"

namespace vcap::test {

/// A picture of soft colours, with a bright box that moves to the right.
inline cv::Mat picture_with_a_box(cv::Size size, int number) {
  cv::Mat picture(size, CV_8UC3);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      picture.at<cv::Vec3b>(y, x) = {static_cast<std::uint8_t>(60 + 120 * x / size.width),
                                     static_cast<std::uint8_t>(60 + 120 * y / size.height), 90};
  const int left = number * 3 % std::max(size.width - 24, 1);
  cv::rectangle(picture, {left, size.height / 3, 24, 24}, {40, 200, 240}, cv::FILLED);
  return picture;
}

/// All frames of a file, as vcap reads them.
inline std::vector<Frame> frames_in(const std::filesystem::path& clip) {
  const std::unique_ptr<Source> source = open_source(clip.string());
  std::vector<Frame> frames;
  while (std::optional<Frame> frame = source->read()) frames.push_back(std::move(*frame));
  return frames;
}

/// The mean absolute difference of all values, in levels of 0 to 255.
inline double mean_difference(const cv::Mat& one, const cv::Mat& other) {
  return cv::norm(one, other, cv::NORM_L1) /
         static_cast<double>(one.total() * static_cast<std::size_t>(one.channels()));
}

}  // namespace vcap::test
