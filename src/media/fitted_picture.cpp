// SPDX-License-Identifier: Apache-2.0
#include "media/fitted_picture.hpp"

#include <algorithm>
#include <cmath>

#include <opencv2/imgproc.hpp>

namespace vcap {

cv::Mat fitted(const cv::Mat& image, cv::Size size) {
  const double scale = std::min(size.width / static_cast<double>(image.cols),
                                size.height / static_cast<double>(image.rows));
  const cv::Size inner(
      std::clamp(static_cast<int>(std::lround(image.cols * scale)), 1, size.width),
      std::clamp(static_cast<int>(std::lround(image.rows * scale)), 1, size.height));
  cv::Mat result(size, CV_8UC3, cv::Scalar::all(0));
  cv::Mat middle = result(cv::Rect((size.width - inner.width) / 2, (size.height - inner.height) / 2,
                                   inner.width, inner.height));
  cv::resize(image, middle, inner, 0, 0, cv::INTER_AREA);
  return result;
}

}  // namespace vcap
