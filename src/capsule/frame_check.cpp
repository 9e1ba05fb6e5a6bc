// SPDX-License-Identifier: Apache-2.0
#include "capsule/frame_check.hpp"

#include <opencv2/core.hpp>

#include "vcap/base/error.hpp"
#include "vcap/model/picture_description.hpp"

namespace vcap::detail {
namespace {

/// The sides, with the first one first: 480 × 640 for a picture of 480 rows.
std::string shape(const cv::Mat& picture) {
  std::string text;
  for (int side = 0; side < picture.dims; ++side)
    text += (side == 0 ? "" : " × ") + std::to_string(picture.size[side]);
  return text;
}

/// What makes a BGR picture of 8 bits out of it.
std::string conversion(const cv::Mat& picture) {
  if (picture.dims != 2)
    return "it is not one picture of height × width; give a header of one of its planes";
  switch (picture.depth()) {
    case CV_8U:
      break;
    case CV_16U:
      return "scale it to 8 bits by picture.convertTo(picture, CV_8U, 1.0 / 257)";
    case CV_32F:
    case CV_64F:
      return "if its values are from 0 to 1, scale them by picture.convertTo(picture, CV_8U, 255)";
    default:
      return "scale its values to 0 to 255, and convert it by picture.convertTo(picture, CV_8U)";
  }
  if (picture.channels() == 1)
    return "it is grey; convert it by cv::cvtColor(picture, bgr, cv::COLOR_GRAY2BGR)";
  if (picture.channels() == 4)
    return "it has an alpha channel; convert it by cv::cvtColor(picture, bgr, cv::COLOR_BGRA2BGR)";
  return "convert it to three channels: blue, green, red";
}

[[noreturn]] void refuse(const Frame& frame, const std::string& capsule, const std::string& what) {
  throw InvalidArgument(ErrorCode::invalid_argument, "capsule " + capsule + " was given frame " +
                                                         std::to_string(frame.index) + ", " + what);
}

}  // namespace

void check_frame(const Frame& frame, const std::string& capsule) {
  if (frame.is_null) refuse(frame, capsule, "which is null; leave it out, as pipelines do");
  const cv::Mat& picture = frame.image;
  if (picture.empty())
    refuse(frame, capsule,
           "whose picture is empty (" + std::to_string(picture.rows) + " × " +
               std::to_string(picture.cols) +
               " pixels); check that it was read, and give height × width × 3, 8 bit, BGR "
               "(CV_8UC3)");
  if (picture.dims != 2 || picture.type() != CV_8UC3)
    refuse(frame, capsule,
           "whose picture of " + shape(picture) + " is CV_" + picture_type_text(picture.type()) +
               "; frames are height × width × 3, 8 bit, BGR (CV_8UC3): " + conversion(picture));
}

}  // namespace vcap::detail
