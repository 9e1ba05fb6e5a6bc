// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// Why a frame does not simply follow the one before it.
enum class Discontinuity { none, start, gap, seek, reconnect, loop };

/// The name as records write it, such as "start". Thread-safe.
VCAP_EXPORT std::string_view to_string(Discontinuity discontinuity) noexcept;

/// One picture of a stream.
///
/// Copying shares the pixels; nobody writes into the pixels of a frame they were given.
/// Thread safety: value.
struct Frame {
  cv::Mat image{};                  ///< height × width × 3, 8 bit, BGR
  std::int64_t index = 0;           ///< from 0 in its stream, dropped frames counted
  std::chrono::nanoseconds pts{0};  ///< from the stream's start
  Discontinuity discontinuity = Discontinuity::none;
  bool is_null = false;  ///< an element without a picture: no capsule sees it
};

}  // namespace vcap
