// SPDX-License-Identifier: Apache-2.0
#include "sources/webcam_driver.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <system_error>

#include "media/opencv_io.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

class CaptureDriver final : public WebcamDriver {
 public:
  std::vector<Webcam> list() const override { return list_webcams(); }
  std::unique_ptr<WebcamDevice> open(int index) const override {
    return opencv_io().open_webcam(index);
  }
};

}  // namespace

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
