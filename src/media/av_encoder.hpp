// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <opencv2/core/mat.hpp>

#include "media/av_pointers.hpp"
#include "media/clip_format.hpp"
#include "media/yuv_converter.hpp"

namespace vcap {

/// Encodes pictures of one size. Each packet's pts is the number of its picture, from 0.
///
/// Pictures are not reordered, and at most two wait in the encoder for later ones. So a process
/// that is killed loses little, at any frame rate. Thread safety: thread-compatible.
class AvEncoder {
 public:
  /// `frames_per_second`: above 0. `global_header`: the container holds the codec's headers. Throws
  /// OutputError (output_write) if the encoder does not take the size or rate.
  AvEncoder(ClipFormat format, cv::Size picture, double frames_per_second, bool global_header);

  const AVCodecContext& context() const noexcept { return *codec_; }

  /// Takes the next picture. `key`: as a keyframe. All packets must have been received before.
  /// Throws OutputError (output_write).
  void send(const cv::Mat& picture, bool key);
  /// No picture follows.
  void end();
  /// The next packet; false if there is none yet, or after the last. Throws OutputError
  /// (output_write).
  bool receive(AVPacket& packet);

 private:
  void check(int result) const;

  const ClipFormat format_;
  YuvConverter converter_;
  AvCodecPointer codec_;
  AvFramePointer frame_;
  std::int64_t pictures_ = 0;
};

}  // namespace vcap
