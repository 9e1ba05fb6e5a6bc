// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <opencv2/core/mat.hpp>

#include "vcap/base/error.hpp"

namespace vcap {

/// Throws InvalidArgument if the frame has no pixels or is not an image of two dimensions. `who`
/// begins the message.
inline void check_frame(const cv::Mat& frame, const std::string& who) {
  if (frame.dims > 2 || frame.empty())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          who + ": the frame has no pixels; give an image of height x width");
}

/// Throws InvalidArgument if a side is not positive.
inline void check_size(cv::Size size, const std::string& who) {
  if (size.width <= 0 || size.height <= 0)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          who + ": the size " + std::to_string(size.width) + "x" +
                              std::to_string(size.height) + " is not at least 1x1");
}

}  // namespace vcap
