// SPDX-License-Identifier: Apache-2.0
#include "media/opencv_io.hpp"

#include <cmath>
#include <utility>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/videoio.hpp>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

class CaptureDevice final : public WebcamDevice {
 public:
  explicit CaptureDevice(const cv::VideoCapture& capture) : capture_(capture) {}

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

class Io final : public OpenCvIo {
 public:
  cv::Mat read_image(const std::filesystem::path& file) const override {
    return cv::imread(file.string(), cv::IMREAD_COLOR);
  }
  cv::Mat decode_image(std::span<const unsigned char> bytes) const override {
    // OpenCV reads the pixels only, though its type has no const form.
    const cv::Mat view(1, static_cast<int>(bytes.size()), CV_8UC1,
                       const_cast<unsigned char*>(bytes.data()));
    return cv::imdecode(view, cv::IMREAD_COLOR);
  }
  std::vector<unsigned char> encode_image(const cv::Mat& image, const std::string& extension,
                                          int quality) const override {
    std::vector<unsigned char> bytes;
    std::string why = "its encoder gave nothing";
    try {
      if (cv::imencode(extension, image, bytes, {cv::IMWRITE_JPEG_QUALITY, quality})) return bytes;
    } catch (const cv::Exception& error) {
      why = error.err;
    }
    throw OutputError(ErrorCode::output_write, "an image of " + std::to_string(image.cols) + " × " +
                                                   std::to_string(image.rows) +
                                                   " pixels cannot be encoded as " + extension +
                                                   ": " + why);
  }
  std::unique_ptr<WebcamDevice> open_webcam(int index) const override {
    cv::VideoCapture capture;
    try {
      capture.open(index, cv::CAP_V4L2);
    } catch (const cv::Exception&) {
      // The exception adds nothing: capture.isOpened() is false.
    }
    if (!capture.isOpened()) return nullptr;
    return std::make_unique<CaptureDevice>(capture);
  }
};

}  // namespace
}  // namespace vcap

extern "C" VCAP_EXPORT const vcap::OpenCvIo* vcap_opencv_io_3();
const vcap::OpenCvIo* vcap_opencv_io_3() {
  static const vcap::Io io;
  return &io;
}
