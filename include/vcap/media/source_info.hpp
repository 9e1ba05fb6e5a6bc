// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <opencv2/core/types.hpp>

namespace vcap {

/// What is known of a source before its first frame. Thread safety: value.
struct SourceInfo {
  std::string description{};             ///< such as "file vtest.avi"
  cv::Size size{};                       ///< 0 × 0 where unknown
  double frames_per_second = 0;          ///< 0 where unknown
  std::optional<std::int64_t> frames{};  ///< absent where unknown or endless
  bool live = false;                     ///< it does not wait for its reader
  bool fed = false;                      ///< by threads of the host, which wait for its reader
  bool has_nulls = false;                ///< some of its frames may be null
  std::string codec{};                   ///< such as "h264"; empty where there is none
  /// What decodes it, by FFmpeg's names: "h264", or "h264 (vaapi)" with its hardware. Of a live
  /// source the hardware is only believed to take its form until the first frame was read.
  std::string decoder{};
};

/// Whether videos are decoded by the machine's video hardware. `automatic`: where a device for the
/// codec opens (such as VA-API, VDPAU, CUDA) and takes the stream's form; otherwise in software,
/// as the log says at level info. Each picture is copied back into memory, where capsules have it.
enum class HardwareDecoding {
  off,  ///< the default: only software's pixels are the same on all machines
  automatic
};

}  // namespace vcap
