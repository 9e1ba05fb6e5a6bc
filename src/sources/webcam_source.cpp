// SPDX-License-Identifier: Apache-2.0
#include "sources/webcam_source.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <opencv2/imgproc.hpp>

#include "sources/live_source.hpp"
#include "sources/stored_source.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

std::string name_of(int index) { return "webcam " + std::to_string(index); }

std::string text_of(const std::vector<Webcam>& webcams) {
  std::string text;
  for (const Webcam& webcam : webcams)
    text += (text.empty() ? "" : ", ") + std::to_string(webcam.index);
  return text.empty() ? "this machine has none" : "this machine has " + text;
}

/// Throws SourceError (source_open).
std::unique_ptr<WebcamDevice> open_device(int index, const WebcamDriver& driver) {
  const std::vector<Webcam> webcams = driver.list();
  // Checked first: OpenCV prints warnings if there is no such webcam.
  if (std::none_of(webcams.begin(), webcams.end(),
                   [&](const Webcam& webcam) { return webcam.index == index; }))
    throw SourceError(ErrorCode::source_open,
                      name_of(index) + " does not exist; " + text_of(webcams));
  std::unique_ptr<WebcamDevice> device = driver.open(index);
  if (!device)
    throw SourceError(ErrorCode::source_open,
                      name_of(index) +
                          " cannot be opened; another program may be using it, or you may not be "
                          "allowed to (group video)");
  return device;
}

/// The picture as 8-bit BGR; empty if the pixels cannot be converted.
cv::Mat as_bgr(cv::Mat image) {
  if (image.type() == CV_8UC3) return image;
  cv::Mat bgr;
  if (image.type() == CV_8UC1) cv::cvtColor(image, bgr, cv::COLOR_GRAY2BGR);
  if (image.type() == CV_8UC4) cv::cvtColor(image, bgr, cv::COLOR_BGRA2BGR);
  return bgr;
}

class WebcamFeed final : public LiveFeed {
 public:
  WebcamFeed(int index, const WebcamDriver& driver)
      : name_(name_of(index)), device_(open_device(index, driver)) {}

  SourceInfo info() const override {
    const double rate = device_->frames_per_second();
    return {.description = name_,
            .size = device_->size(),
            .frames_per_second = std::isfinite(rate) && rate > 0 ? rate : 0,
            .live = true};
  }

  LivePicture next() override {
    cv::Mat image;
    try {
      image = device_->read();
    } catch (const cv::Exception& error) {
      throw SourceError(ErrorCode::source_read, error.err);
    }
    if (image.empty()) throw SourceError(ErrorCode::source_read, "its driver gave no picture");
    const int type = image.type();
    image = as_bgr(std::move(image));
    if (image.empty())
      throw SourceError(ErrorCode::source_read, "it gives pixels of OpenCV type " +
                                                    std::to_string(type) +
                                                    ", which cannot be converted to 8-bit BGR");
    return {.image = std::move(image), .time = device_->time()};
  }

 private:
  const std::string name_;
  const std::unique_ptr<WebcamDevice> device_;
};

}  // namespace

std::unique_ptr<Source> open_webcam(int index, const SourceOptions& options,
                                    std::shared_ptr<const WebcamDriver> driver,
                                    std::unique_ptr<LiveClock> clock) {
  refuse_range(options, name_of(index));
  auto feed = std::make_unique<WebcamFeed>(index, *driver);
  return std::make_unique<LiveSource>(
      std::move(feed),
      [index, driver = std::move(driver)](const std::stop_token&) {
        return std::make_unique<WebcamFeed>(index, *driver);
      },
      options.reconnect, std::stop_source(), std::move(clock));
}

}  // namespace vcap
