// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "media/av_pointers.hpp"

namespace vcap {

/// Encodes pictures, 8-bit BGR, without loss (FFV1). Each result can be decoded by itself: it has
/// the codec's header in front. Pictures may differ in size. Thread safety: thread-compatible.
class LosslessEncoder {
 public:
  /// `output`: for messages, such as "recording night". Throws OutputError (output_open) if this
  /// FFmpeg lacks the encoder.
  explicit LosslessEncoder(std::string output);

  /// The bytes stay valid until the next call. Throws OutputError (output_write).
  std::span<const std::byte> encode(const cv::Mat& picture);

 private:
  void open(cv::Size size);
  void check(int result) const;

  const std::string output_;
  const AVCodec& encoder_;
  AvCodecPointer codec_;
  AvFramePointer frame_;
  AvPacketPointer packet_;
  std::vector<std::byte> bytes_;
};

/// Decodes what LosslessEncoder gives. Thread safety: thread-compatible.
class LosslessDecoder {
 public:
  /// `source`: for messages. Throws SourceError (source_open) if this FFmpeg lacks the decoder.
  explicit LosslessDecoder(std::string source);

  /// `size`: of the picture. Throws SourceError (source_read) for bytes that it notices are
  /// damaged; those within the picture it need not notice.
  cv::Mat decode(std::span<const std::byte> bytes, cv::Size size);

 private:
  void open(std::span<const std::byte> header, cv::Size size);
  [[noreturn]] void fail(const std::string& why) const;

  const std::string source_;
  AvCodecPointer codec_;
  AvFramePointer frame_;
  AvPacketPointer packet_;
  std::vector<std::byte> header_;  ///< of codec_
};

}  // namespace vcap
