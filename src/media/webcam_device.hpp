// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// An open webcam. Thread safety: thread-compatible.
class VCAP_EXPORT WebcamDevice {
 public:
  WebcamDevice() = default;
  WebcamDevice(const WebcamDevice&) = delete;
  WebcamDevice& operator=(const WebcamDevice&) = delete;
  virtual ~WebcamDevice();

  virtual cv::Size size() const = 0;             ///< 0 × 0 if unknown
  virtual double frames_per_second() const = 0;  ///< not above 0 if unknown
  /// The next picture, in its own memory and in OpenCV's pixel format. Empty if there is none: the
  /// camera is gone, or was silent for the driver's time limit. Throws cv::Exception.
  virtual cv::Mat read() = 0;
  /// When the last picture was taken, by the driver's clock; `nullopt` if unknown.
  virtual std::optional<std::chrono::nanoseconds> time() const { return std::nullopt; }
};

}  // namespace vcap
