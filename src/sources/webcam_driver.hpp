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

/// Lists and opens the machine's webcams. Tests inject their own. Thread safety: thread-safe.
class VCAP_EXPORT WebcamDriver {
 public:
  virtual ~WebcamDriver();
  virtual std::vector<Webcam> list() const = 0;
  /// Null if it cannot be opened.
  virtual std::unique_ptr<WebcamDevice> open(int index) const = 0;
};

/// The driver for this machine: Video4Linux through OpenCV.
std::shared_ptr<const WebcamDriver> make_webcam_driver();

/// The webcams among the entries of `devices`, usually /dev, by index. Their names are in
/// `classes`, usually /sys/class/video4linux.
VCAP_EXPORT std::vector<Webcam> webcams_in(const std::filesystem::path& devices,
                                           const std::filesystem::path& classes);

}  // namespace vcap
