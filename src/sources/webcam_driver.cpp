// SPDX-License-Identifier: Apache-2.0
#include "sources/webcam_driver.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include <opencv2/videoio.hpp>

namespace vcap {
namespace {

namespace fs = std::filesystem;

class CaptureDevice final : public WebcamDevice {
 public:
  explicit CaptureDevice(cv::VideoCapture capture) : capture_(std::move(capture)) {}

  cv::Size size() const override {
    return {static_cast<int>(capture_.get(cv::CAP_PROP_FRAME_WIDTH)),
            static_cast<int>(capture_.get(cv::CAP_PROP_FRAME_HEIGHT))};
  }
  double frames_per_second() const override { return capture_.get(cv::CAP_PROP_FPS); }
  cv::Mat read() override {
    // A new Mat each time: the driver's picture is then copied into new memory, and frames that
    // were given keep their pixels.
    cv::Mat image;
    return capture_.read(image) ? image : cv::Mat();
  }
  std::optional<std::chrono::nanoseconds> time() const override {
    const double ms = capture_.get(cv::CAP_PROP_POS_MSEC);
    if (!(ms > 0 && ms < 9e12)) return std::nullopt;
    return std::chrono::nanoseconds(std::llround(ms * 1e6));
  }

 private:
  cv::VideoCapture capture_;
};

class CaptureDriver final : public WebcamDriver {
 public:
  std::vector<Webcam> list() const override { return list_webcams(); }
  std::unique_ptr<WebcamDevice> open(int index) const override {
    cv::VideoCapture capture;
    try {
      capture.open(index, cv::CAP_V4L2);
    } catch (const cv::Exception&) {
      // The exception adds nothing: capture.isOpened() is false.
    }
    if (!capture.isOpened()) return nullptr;
    return std::make_unique<CaptureDevice>(std::move(capture));
  }
};

}  // namespace

WebcamDevice::~WebcamDevice() = default;
WebcamDriver::~WebcamDriver() = default;

std::shared_ptr<const WebcamDriver> make_webcam_driver() {
  return std::make_shared<CaptureDriver>();
}

std::vector<Webcam> webcams_in(const fs::path& devices, const fs::path& classes) {
  std::vector<Webcam> found;
  std::error_code failed;
  for (fs::directory_iterator at(devices, failed), end; !failed && at != end;
       at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (name.rfind("video", 0) != 0 || name.size() < 6 || name.size() > 8 ||
        !std::all_of(name.begin() + 5, name.end(), [](char c) { return c >= '0' && c <= '9'; }))
      continue;
    Webcam webcam{.index = std::stoi(name.substr(5))};
    std::ifstream told(classes / name / "name");
    std::getline(told, webcam.description);
    found.push_back(std::move(webcam));
  }
  std::sort(found.begin(), found.end(),
            [](const Webcam& a, const Webcam& b) { return a.index < b.index; });
  return found;
}

std::vector<Webcam> list_webcams() { return webcams_in("/dev", "/sys/class/video4linux"); }

}  // namespace vcap
