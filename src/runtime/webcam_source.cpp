// SPDX-License-Identifier: Apache-2.0
#include "runtime/webcam_source.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>

#include "runtime/live_source.hpp"
#include "runtime/stored_source.hpp"
#include "vcap/base/error.hpp"
#include "vcap/runtime/webcam.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

std::string webcams_here() {
  std::string text;
  for (const Webcam& webcam : list_webcams())
    text += (text.empty() ? "" : ", ") + std::to_string(webcam.index);
  return text.empty() ? "this machine has none" : "this machine has " + text;
}

/// The picture as frames have it; empty where the pixels cannot be brought into that form.
cv::Mat as_bgr(cv::Mat image) {
  if (image.type() == CV_8UC3) return image;
  cv::Mat bgr;
  if (image.type() == CV_8UC1) cv::cvtColor(image, bgr, cv::COLOR_GRAY2BGR);
  if (image.type() == CV_8UC4) cv::cvtColor(image, bgr, cv::COLOR_BGRA2BGR);
  return bgr;
}

class WebcamFeed final : public LiveFeed {
 public:
  explicit WebcamFeed(int index) : name_("webcam " + std::to_string(index)) {
    std::error_code unknown;
    // Asked first: OpenCV prints warnings where there is none.
    if (!fs::exists("/dev/video" + std::to_string(index), unknown))
      throw SourceError(ErrorCode::source_open, name_ + " does not exist; " + webcams_here());
    try {
      capture_.open(index, cv::CAP_V4L2);
    } catch (const cv::Exception&) {
      // Tells no more than that it is not open.
    }
    if (!capture_.isOpened())
      throw SourceError(ErrorCode::source_open,
                        name_ +
                            " cannot be opened; another program may be using it, or you may not "
                            "be allowed to (group video)");
  }

  SourceInfo info() const override {
    const double rate = capture_.get(cv::CAP_PROP_FPS);
    return {.description = name_,
            .size = {static_cast<int>(capture_.get(cv::CAP_PROP_FRAME_WIDTH)),
                     static_cast<int>(capture_.get(cv::CAP_PROP_FRAME_HEIGHT))},
            .frames_per_second = std::isfinite(rate) && rate > 0 ? rate : 0,
            .live = true};
  }

  cv::Mat next() override {
    // A Mat of its own each time: with an empty one the driver's picture is copied into fresh
    // memory, so that frames once given keep their pixels.
    cv::Mat image;
    try {
      if (!capture_.read(image) || image.empty())
        throw SourceError(ErrorCode::source_read, "its driver gave no picture");
    } catch (const cv::Exception& error) {
      throw SourceError(ErrorCode::source_read, error.err);
    }
    const int type = image.type();
    image = as_bgr(std::move(image));
    if (image.empty())
      throw SourceError(ErrorCode::source_read, "it gives pixels of OpenCV type " +
                                                    std::to_string(type) +
                                                    ", which cannot be turned into 8-bit BGR");
    return image;
  }

 private:
  const std::string name_;
  cv::VideoCapture capture_;
};

}  // namespace

std::vector<Webcam> list_webcams() {
  std::vector<Webcam> found;
  std::error_code failed;
  for (fs::directory_iterator at("/dev", failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (name.rfind("video", 0) != 0 || name.size() < 6 || name.size() > 8 ||
        !std::all_of(name.begin() + 5, name.end(), [](char c) { return c >= '0' && c <= '9'; }))
      continue;
    Webcam webcam{.index = std::stoi(name.substr(5))};
    std::ifstream told("/sys/class/video4linux/" + name + "/name");
    std::getline(told, webcam.description);
    found.push_back(std::move(webcam));
  }
  std::sort(found.begin(), found.end(),
            [](const Webcam& a, const Webcam& b) { return a.index < b.index; });
  return found;
}

std::unique_ptr<Source> open_webcam(int index, const SourceOptions& options) {
  refuse_range(options, "webcam " + std::to_string(index));
  return std::make_unique<LiveSource>(
      std::make_unique<WebcamFeed>(index),
      [index](const std::stop_token&) { return std::make_unique<WebcamFeed>(index); },
      options.reconnect, std::stop_source());
}

}  // namespace vcap
