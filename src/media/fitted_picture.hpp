// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <opencv2/core/mat.hpp>

namespace vcap {

/// The whole picture in another size, centred, with black around it. Thread-safe.
cv::Mat fitted(const cv::Mat& image, cv::Size size);

}  // namespace vcap
