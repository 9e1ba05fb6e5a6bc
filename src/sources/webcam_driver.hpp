// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/sources/webcam.hpp"

namespace vcap {

/// A webcam that is open. Thread safety: thread-compatible.
class VCAP_EXPORT WebcamDevice {
 public:
  WebcamDevice() = default;
  WebcamDevice(const WebcamDevice&) = delete;
  WebcamDevice& operator=(const WebcamDevice&) = delete;
  virtual ~WebcamDevice();

  virtual cv::Size size() const = 0;             ///< 0 × 0 where unknown
  virtual double frames_per_second() const = 0;  ///< no number above 0 where unknown
  /// The next picture, in memory of its own and in OpenCV's form for its pixels. Empty where there
  /// is none: the camera is gone, or was silent for as long as the driver waits. Throws
  /// cv::Exception.
  virtual cv::Mat read() = 0;
  /// When the last picture was taken, by the driver's clock; nothing where it does not tell.
  virtual std::optional<std::chrono::nanoseconds> time() const { return std::nullopt; }
};

/// What knows and opens a machine's webcams. Tests bring their own. Thread safety: thread-safe.
class VCAP_EXPORT WebcamDriver {
 public:
  virtual ~WebcamDriver();
  virtual std::vector<Webcam> list() const = 0;
  /// Null where it cannot be opened.
  virtual std::unique_ptr<WebcamDevice> open(int index) const = 0;
};

/// This machine's: Video4Linux, by OpenCV.
std::shared_ptr<const WebcamDriver> make_webcam_driver();

/// The entries of `devices`, usually /dev, that are webcams', by index; what they are called stands
/// in `classes`, usually /sys/class/video4linux.
VCAP_EXPORT std::vector<Webcam> webcams_in(const std::filesystem::path& devices,
                                           const std::filesystem::path& classes);

}  // namespace vcap
