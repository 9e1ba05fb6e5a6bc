// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cmath>
#include <mutex>
#include <utility>

#include <opencv2/imgproc.hpp>

#include "files/output_file.hpp"
#include "media/av_log.hpp"
#include "media/opencv_io.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/image/draw_nodes.hpp"
#include "vcap/records/sink.hpp"

namespace vcap {
namespace {

/// The rate of a clip if the source's rate is unknown.
constexpr double kDefaultRate = 25;

OpenCvIo::Codec codec_of(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (extension == ".mp4") return OpenCvIo::Codec::mpeg4;
  if (extension == ".avi") return OpenCvIo::Codec::mjpeg;
  throw OutputError(ErrorCode::output_open, "output " + path.string() +
                                                ": the form of a clip is told by its extension, "
                                                "which must be .mp4 or .avi");
}

double rate_of(double frames_per_second) {
  if (frames_per_second == 0) return kDefaultRate;
  if (std::isfinite(frames_per_second) && frames_per_second > 0 && frames_per_second <= 1000)
    return frames_per_second;
  throw InvalidArgument(
      ErrorCode::invalid_argument,
      "frames_per_second of an annotated video: " + std::to_string(frames_per_second) +
          " is not above 0 and up to 1000 (or 0 for " +
          std::to_string(static_cast<int>(kDefaultRate)) + ")");
}

/// The whole picture, centred, with black around it.
cv::Mat fitted(const cv::Mat& image, cv::Size size) {
  const double scale = std::min(size.width / static_cast<double>(image.cols),
                                size.height / static_cast<double>(image.rows));
  const cv::Size inner(
      std::clamp(static_cast<int>(std::lround(image.cols * scale)), 1, size.width),
      std::clamp(static_cast<int>(std::lround(image.rows * scale)), 1, size.height));
  cv::Mat result(size, CV_8UC3, cv::Scalar::all(0));
  cv::Mat middle = result(cv::Rect((size.width - inner.width) / 2, (size.height - inner.height) / 2,
                                   inner.width, inner.height));
  cv::resize(image, middle, inner, 0, 0, cv::INTER_AREA);
  return result;
}

class AnnotatedVideoSink final : public Sink {
 public:
  AnnotatedVideoSink(const std::filesystem::path& path, double frames_per_second)
      : codec_(codec_of(path)), rate_(rate_of(frames_per_second)), file_(path) {}

  void write(const FrameRecord& record) override {
    cv::Mat image = record.frame.image.clone();  // the pixels of frames are shared
    if (!record.frame.is_null) draw_nodes(image, DetectionNodes::all(record.objects));
    const std::lock_guard lock(mutex_);
    if (record.frame.is_null) image = last_;
    if (image.empty()) return;
    if (closed_) fail("is closed already; close a sink after the stream that writes to it");
    if (frames_ == 0) open(image.size());
    if (image.size() != size_) image = fit(image);
    // OpenCV does not report write errors. A full disk is detected in advance, from the largest
    // size that a frame may take and a reserve for the index. close() checks the rest.
    try {
      file_.check_space(image.total() * image.elemSize() + kReserve);
      clip_->write(image);
    } catch (const cv::Exception& error) {
      fail("cannot be written further: " + error.err);
    } catch (const OutputError&) {
      broken_ = !losses_allowed_;  // if losses are allowed, the clip lacks this frame
      throw;
    }
    ++frames_;
    last_ = std::move(image);
  }

  void allow_losses() override {
    const std::lock_guard lock(mutex_);
    losses_allowed_ = true;
    file_.undo_failed_writes();
  }

  void close() override {
    const std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
    clip_.reset();
    if (broken_) fail("is incomplete, since writing it failed; it was not kept");
    if (frames_ == 0) {
      log(LogLevel::warning,
          "output " + file_.path().string() + " had no frames, and so there is no clip");
      return;
    }
    check_result();
    file_.commit();
  }

 private:
  static constexpr std::size_t kReserve = std::size_t{1} << 20;

  [[noreturn]] void fail(const std::string& why) {
    broken_ = true;
    throw OutputError(ErrorCode::output_write, "output " + file_.path().string() + " " + why);
  }

  void open(cv::Size size) {
    size_ = size;
    take_av_log();  // OpenCV writes through libav
    clip_ = opencv_io().open_clip(file_.written_at(), codec_, rate_, size);
    if (!clip_)
      fail("cannot be encoded: no clip of " + std::to_string(size.width) + " × " +
           std::to_string(size.height) + " pixels at " + std::to_string(rate_) +
           " frames a second can be made; try .avi or another rate");
  }

  cv::Mat fit(const cv::Mat& image) {
    if (!std::exchange(warned_, true))
      log(LogLevel::warning, "output " + file_.path().string() + ": frames changed from " +
                                 std::to_string(size_.width) + " × " +
                                 std::to_string(size_.height) + " to " +
                                 std::to_string(image.cols) + " × " + std::to_string(image.rows) +
                                 " pixels and are fitted into the clip");
    return fitted(image, size_);
  }

  /// Checks the written clip: it must have all frames, and the last one must be decodable.
  void check_result() {
    if (!opencv_io().is_whole(file_.written_at(), frames_))
      fail("came out damaged: not all of its " + std::to_string(frames_) +
           " frames are there; check the disk's space; it was not kept");
  }

  const OpenCvIo::Codec codec_;
  const double rate_;
  std::mutex mutex_;
  OutputFile file_;
  std::unique_ptr<ClipWriter> clip_;
  cv::Size size_;
  cv::Mat last_;  ///< as it was written
  std::int64_t frames_ = 0;
  bool warned_ = false;
  bool closed_ = false;
  bool broken_ = false;
  bool losses_allowed_ = false;
};

}  // namespace

std::unique_ptr<Sink> make_annotated_video_sink(const std::filesystem::path& path,
                                                double frames_per_second) {
  return std::make_unique<AnnotatedVideoSink>(path, frames_per_second);
}

}  // namespace vcap
