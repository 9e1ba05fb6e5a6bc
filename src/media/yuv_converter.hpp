// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <libavutil/frame.h>
#include <libswscale/swscale.h>
}

#include <memory>

#include <opencv2/core/mat.hpp>

namespace vcap {

/// Converts pictures, 8-bit BGR, to planes of brightness and colour for an encoder (4:2:0), by
/// BT.601. Colours are the mean of four pixels, so width and height are even: an odd one grows by a
/// line that repeats the last. Thread safety: thread-compatible.
class YuvConverter {
 public:
  /// `form`: AV_PIX_FMT_YUV420P for limited range, AV_PIX_FMT_YUVJ420P for full range.
  YuvConverter(cv::Size picture, AVPixelFormat form);

  /// The size of the result.
  cv::Size size() const noexcept { return size_; }
  /// `picture` has the constructor's size. `frame`: writable, of size() and the constructor's form.
  void convert(const cv::Mat& picture, AVFrame& frame);

 private:
  struct Free {
    void operator()(SwsContext* context) const noexcept { sws_freeContext(context); }
  };

  void scale(const cv::Mat& lines, int first, int count, AVFrame& frame);

  const cv::Size picture_;
  const cv::Size size_;
  std::unique_ptr<SwsContext, Free> context_;
  const int direct_;  ///< number of lines that are read from the picture itself
  cv::Mat padded_;    ///< the lines after those, with memory beyond their ends
};

}  // namespace vcap
