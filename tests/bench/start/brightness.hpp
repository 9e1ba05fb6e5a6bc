// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>
#include <functional>

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

namespace vcap::bench::start {

/// The mean of a picture's gray values: the algorithm of both processes.
inline double brightness(const cv::Mat& picture) {
  cv::Mat gray;
  cv::cvtColor(picture, gray, cv::COLOR_BGR2GRAY);
  const double sum = tbb::parallel_reduce(
      tbb::blocked_range<int>(0, gray.rows), 0.0,
      [&](const tbb::blocked_range<int>& rows, double part) {
        return part + cv::sum(gray.rowRange(rows.begin(), rows.end()))[0];
      },
      std::plus<>());
  return sum / static_cast<double>(gray.total());
}

/// The frame that both processes answer.
inline cv::Mat picture() { return {480, 640, CV_8UC3, cv::Scalar::all(200)}; }

}  // namespace vcap::bench::start
