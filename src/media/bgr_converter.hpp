// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <libavutil/frame.h>
#include <libswscale/swscale.h>
}

#include <memory>
#include <tuple>

#include <opencv2/core/mat.hpp>

namespace vcap {

/// Converts decoded pictures to the format of frames, 8-bit BGR. Range (limited or full) and matrix
/// are those that the picture declares; BT.601 if it declares no matrix. With those defaults the
/// values equal OpenCV's, bit for bit. Thread safety: thread-compatible.
class BgrConverter {
 public:
  /// The result has its own memory; empty if the pixel format is unknown.
  cv::Mat convert(const AVFrame& frame);

 private:
  struct Free {
    void operator()(SwsContext* context) const noexcept { sws_freeContext(context); }
  };
  using Form = std::tuple<int, int, int, int, int>;

  bool prepare(const AVFrame& frame);

  std::unique_ptr<SwsContext, Free> context_;
  Form form_{};  ///< of the pictures that context_ converts
  cv::Mat wide_;
};

}  // namespace vcap
