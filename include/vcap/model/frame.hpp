// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/pictures.hpp"

namespace vcap {

/// Why a frame does not directly follow the one before it.
enum class Discontinuity { none, start, gap, seek, reconnect, loop };

/// The name in records, such as "start". Thread-safe.
VCAP_EXPORT std::string_view to_string(Discontinuity discontinuity) noexcept;

/// One picture of a stream.
///
/// Copies share the pixels; code must not write into the pixels of a frame that it was given.
/// Thread safety: value.
struct Frame {
  cv::Mat image{};                  ///< height × width × 3, 8 bit, BGR
  std::int64_t index = 0;           ///< from 0 in its stream; dropped frames count too
  std::chrono::nanoseconds pts{0};  ///< from the stream's start
  Discontinuity discontinuity = Discontinuity::none;
  bool is_null = false;  ///< an element without a picture; capsules are not called for it
  /// Further pictures, which capsules gave (CapsuleInfo::gives_pictures). A capsule gets those that
  /// its takes_pictures lists; a record has those that a sink or the host may look at.
  Pictures pictures{};
  /// Of a source of images: the image's file, below the folder or the fixed part of the glob, such
  /// as "cat/1.jpg". Empty for other sources and for null elements.
  std::string source_file{};
};

}  // namespace vcap
