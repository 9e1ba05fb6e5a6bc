// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <opencv2/core/types.hpp>

namespace vcap {

/// What is known about a source before its first frame. Thread safety: value.
struct SourceInfo {
  std::string description{};             ///< such as "file vtest.avi"
  cv::Size size{};                       ///< 0 × 0 if unknown
  double frames_per_second = 0;          ///< 0 if unknown
  std::optional<std::int64_t> frames{};  ///< `nullopt` if unknown or endless
  bool live = false;                     ///< does not wait for its reader
  bool fed = false;        ///< host threads push the frames (FrameFeed) and wait for its reader
  bool has_nulls = false;  ///< some of its frames may be null
  std::string codec{};     ///< such as "h264"; empty if there is none
  /// The decoder, by FFmpeg's name: "h264", or "h264 (vaapi)" with hardware. For a live source, the
  /// hardware is only expected to accept the stream's format until the first frame is read.
  std::string decoder{};
};

/// Whether the machine's video hardware decodes videos. `automatic`: hardware decodes if a device
/// for the codec opens (such as VA-API, VDPAU, CUDA) and accepts the stream's format. Otherwise
/// software decodes, and a message at level info says why. Each picture is copied to main memory
/// for the capsules.
enum class HardwareDecoding {
  off,  ///< the default: only software gives the same pixels on all machines
  automatic
};

}  // namespace vcap
