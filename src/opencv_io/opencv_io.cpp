// SPDX-License-Identifier: Apache-2.0
#include "media/opencv_io.hpp"

#include <cmath>
#include <utility>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/videoio.hpp>

namespace vcap {
namespace {

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

class VideoClip final : public ClipWriter {
 public:
  explicit VideoClip(cv::VideoWriter writer) : writer_(std::move(writer)) {}
  void write(const cv::Mat& picture) override { writer_.write(picture); }

 private:
  cv::VideoWriter writer_;
};

int fourcc(OpenCvIo::Codec codec) {
  return codec == OpenCvIo::Codec::mpeg4 ? cv::VideoWriter::fourcc('m', 'p', '4', 'v')
                                         : cv::VideoWriter::fourcc('M', 'J', 'P', 'G');
}

class Io final : public OpenCvIo {
 public:
  cv::Mat read_image(const std::filesystem::path& file) const override {
    return cv::imread(file.string(), cv::IMREAD_COLOR);
  }
  std::unique_ptr<WebcamDevice> open_webcam(int index) const override {
    cv::VideoCapture capture;
    try {
      capture.open(index, cv::CAP_V4L2);
    } catch (const cv::Exception&) {
      // The exception adds nothing: capture.isOpened() is false.
    }
    if (!capture.isOpened()) return nullptr;
    return std::make_unique<CaptureDevice>(std::move(capture));
  }
  std::unique_ptr<ClipWriter> open_clip(const std::filesystem::path& file, Codec codec,
                                        double frames_per_second, cv::Size size) const override {
    cv::VideoWriter writer;
    try {
      writer.open(file.string(), cv::CAP_FFMPEG, fourcc(codec), frames_per_second, size);
    } catch (const cv::Exception&) {
      // The exception adds nothing: writer.isOpened() is false.
    }
    if (!writer.isOpened()) return nullptr;
    return std::make_unique<VideoClip>(std::move(writer));
  }
  bool is_whole(const std::filesystem::path& file, std::int64_t frames) const override {
    cv::VideoCapture clip;
    try {
      clip.open(file.string(), cv::CAP_FFMPEG);
    } catch (const cv::Exception&) {
      // The exception adds nothing: clip.isOpened() is false.
    }
    cv::Mat last;
    return clip.isOpened() && std::llround(clip.get(cv::CAP_PROP_FRAME_COUNT)) == frames &&
           clip.set(cv::CAP_PROP_POS_FRAMES, static_cast<double>(frames - 1)) && clip.read(last) &&
           !last.empty();
  }
};

}  // namespace
}  // namespace vcap

extern "C" VCAP_EXPORT const vcap::OpenCvIo* vcap_opencv_io_1();
const vcap::OpenCvIo* vcap_opencv_io_1() {
  static const vcap::Io io;
  return &io;
}
