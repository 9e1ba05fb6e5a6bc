// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <linux/videodev2.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <opencv2/core/types.hpp>

#include "vcap/sources/webcam.hpp"

namespace vcap::test {

/// While it lives, it writes grey pictures, 25 per second, into a device of v4l2loopback. Others
/// read them from the device as from a camera.
class LoopbackWebcam {
 public:
  /// The index of the first loopback device that this process may write to.
  static std::optional<int> find() {
    for (const Webcam& webcam : list_webcams()) {
      const int device = open_device(webcam.index);
      v4l2_capability told{};
      const bool is_loopback =
          device >= 0 && ::ioctl(device, VIDIOC_QUERYCAP, &told) == 0 &&
          std::string_view(reinterpret_cast<const char*>(told.driver)) == "v4l2 loopback";
      if (device >= 0) ::close(device);
      if (is_loopback) return webcam.index;
    }
    return std::nullopt;
  }
  static cv::Size size() { return {320, 240}; }

  LoopbackWebcam(int index, std::uint8_t grey) : device_(open_device(index)) {
    v4l2_format format{};
    format.type = V4L2_BUF_TYPE_VIDEO_OUTPUT;
    format.fmt.pix.width = static_cast<std::uint32_t>(size().width);
    format.fmt.pix.height = static_cast<std::uint32_t>(size().height);
    format.fmt.pix.pixelformat = V4L2_PIX_FMT_YUYV;
    format.fmt.pix.field = V4L2_FIELD_NONE;
    format.fmt.pix.bytesperline = format.fmt.pix.width * 2;
    format.fmt.pix.sizeimage = format.fmt.pix.bytesperline * format.fmt.pix.height;
    format.fmt.pix.colorspace = V4L2_COLORSPACE_SRGB;
    if (device_ < 0 || ::ioctl(device_, VIDIOC_S_FMT, &format) != 0) fail();
    picture_.assign(format.fmt.pix.sizeimage, 128);
    for (std::size_t i = 0; i < picture_.size(); i += 2) picture_[i] = grey;
    // Readers see a camera only when there is a picture.
    if (!write()) fail();
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested() && write())
        std::this_thread::sleep_for(std::chrono::milliseconds(40));
    });
  }
  LoopbackWebcam(const LoopbackWebcam&) = delete;
  LoopbackWebcam& operator=(const LoopbackWebcam&) = delete;
  ~LoopbackWebcam() {
    thread_ = {};  // ends the thread before the device is closed
    ::close(device_);
  }

 private:
  static int open_device(int index) {
    return ::open(("/dev/video" + std::to_string(index)).c_str(), O_RDWR | O_CLOEXEC);
  }
  [[noreturn]] void fail() const {
    const int error = errno;
    if (device_ >= 0) ::close(device_);
    throw std::system_error(error, std::generic_category(), "the loopback device");
  }
  bool write() const {
    return ::write(device_, picture_.data(), picture_.size()) ==
           static_cast<ssize_t>(picture_.size());
  }

  const int device_;
  std::vector<std::uint8_t> picture_;
  std::jthread thread_;
};

}  // namespace vcap::test
