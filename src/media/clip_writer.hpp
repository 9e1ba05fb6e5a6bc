// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

#include <opencv2/core/mat.hpp>

#include "files/output_file.hpp"
#include "media/av_encoder.hpp"
#include "media/av_output.hpp"
#include "media/av_pointers.hpp"
#include "media/clip_format.hpp"

namespace vcap {

/// Encodes pictures into a clip.
///
/// The clip begins at its first picture. The times of pictures increase: if they do not, a picture
/// follows the one before at the nominal rate, and later ones keep their distance to it. Containers
/// with a fixed rate have no times. While it is written, a reader of the file finds all pictures
/// but those of the last second, and two that may still be in the encoder. Thread safety:
/// thread-compatible.
class ClipWriter {
 public:
  /// Writes nothing to the file yet. `frames_per_second`: nominal; 0 (unknown) means 25. `file`, a
  /// regular file, must outlive it. Throws OutputError (output_write) if a clip of such pictures
  /// cannot be made.
  ClipWriter(OutputFile& file, const ClipFormat& format, cv::Size picture,
             double frames_per_second);

  /// Adds a picture, 8-bit BGR, of the constructor's size, which is shown from `pts` on. Throws
  /// OutputError (output_write) without adding it if there are bytes of earlier pictures that the
  /// disk does not take. The next call tries again.
  void write(const cv::Mat& picture, std::chrono::nanoseconds pts);
  /// Writes what has left the encoder, so that a reader of the file finds it. Each call costs some
  /// hundred bytes. Returns whether there are any pictures. Throws OutputError (output_write).
  bool store();
  /// Completes the clip; must be the last call. Throws OutputError (output_write).
  void finish();

 private:
  std::int64_t time_of(std::chrono::nanoseconds pts);
  void pass_packets_on();

  const bool fixed_rate_;
  const std::chrono::nanoseconds period_;  ///< of the nominal rate
  AvEncoder encoder_;
  AvOutput output_;
  AvPacketPointer packet_;
  std::chrono::nanoseconds begin_{};     ///< where the clip's time is 0
  std::chrono::nanoseconds last_{};      ///< the last picture's time in the clip
  std::int64_t last_ticks_ = -1;         ///< the same, in the container's unit
  std::chrono::nanoseconds last_key_{};  ///< the last keyframe's time
  std::deque<std::int64_t> times_;       ///< of pictures in the encoder, in the container's unit
};

}  // namespace vcap
