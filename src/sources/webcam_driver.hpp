// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "media/webcam_device.hpp"
#include "vcap/sources/webcam.hpp"

namespace vcap {

/// Lists and opens the machine's webcams. Tests inject their own. Thread safety: thread-safe.
class WebcamDriver {
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
std::vector<Webcam> webcams_in(const std::filesystem::path& devices,
                               const std::filesystem::path& classes);

}  // namespace vcap
