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

/// Turns decoded pictures into those of frames: 8-bit BGR, limited and full range by what the
/// picture says of itself, the matrix by what it says too, and BT.601 where it says none. With
/// those defaults the values are OpenCV's own, bit for bit. Thread safety: thread-compatible.
class BgrConverter {
 public:
  /// In memory of its own; empty where the form of the pixels is not known.
  cv::Mat convert(const AVFrame& frame);

 private:
  struct Free {
    void operator()(SwsContext* context) const noexcept { sws_freeContext(context); }
  };
  using Form = std::tuple<int, int, int, int, int>;

  bool prepare(const AVFrame& frame);

  std::unique_ptr<SwsContext, Free> context_;
  Form form_{};  ///< of the pictures that context_ is for
  cv::Mat wide_;
};

}  // namespace vcap
