// SPDX-License-Identifier: Apache-2.0
#include "runtime/video_source.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>

#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using std::chrono::nanoseconds;

/// How long a camera on the network may be silent, and how long an interrupt may so last.
constexpr int kNetworkTimeoutMs = 5000;
/// Where a container tells no rate, for times that it does not tell either.
constexpr double kFallbackRate = 25;

/// The picture as frames have it; empty where the pixels cannot be brought into that form.
cv::Mat as_bgr(cv::Mat image) {
  if (image.type() == CV_8UC3) return image;
  cv::Mat bgr;
  if (image.type() == CV_8UC1) cv::cvtColor(image, bgr, cv::COLOR_GRAY2BGR);
  if (image.type() == CV_8UC4) cv::cvtColor(image, bgr, cv::COLOR_BGRA2BGR);
  return bgr;
}

class CaptureSource : public Source {
 public:
  CaptureSource(cv::VideoCapture capture, SourceInfo info)
      : capture_(std::move(capture)), info_(std::move(info)) {
    info_.size = {static_cast<int>(capture_.get(cv::CAP_PROP_FRAME_WIDTH)),
                  static_cast<int>(capture_.get(cv::CAP_PROP_FRAME_HEIGHT))};
    const double rate = capture_.get(cv::CAP_PROP_FPS);
    if (std::isfinite(rate) && rate > 0) info_.frames_per_second = rate;
  }

  SourceInfo info() const override { return info_; }
  void interrupt() noexcept override { interrupted_ = true; }

 protected:
  /// The next picture; empty at the end or where reading fails.
  cv::Mat grab() {
    // A Mat of its own each time: with an empty one the decoder's picture is copied into fresh
    // memory, so that frames once given keep their pixels.
    cv::Mat image;
    try {
      if (!capture_.read(image) || image.empty()) return {};
    } catch (const cv::Exception& error) {
      throw SourceError(ErrorCode::source_read,
                        info_.description + " cannot be read further: " + error.err);
    }
    const int type = image.type();
    image = as_bgr(std::move(image));
    if (image.empty())
      throw SourceError(ErrorCode::source_read,
                        info_.description + " gives pixels of OpenCV type " + std::to_string(type) +
                            ", which cannot be turned into 8-bit BGR");
    return image;
  }

  bool interrupted() const noexcept { return interrupted_; }

  cv::VideoCapture capture_;
  SourceInfo info_;
  std::int64_t next_index_ = 0;

 private:
  std::atomic<bool> interrupted_{false};
};

/// Waits for its reader: a file, or a clip on a server.
class StoredVideo final : public CaptureSource {
 public:
  StoredVideo(cv::VideoCapture capture, SourceInfo given, std::optional<std::int64_t> frames)
      : CaptureSource(std::move(capture), std::move(given)) {
    info_.frames = frames;
    first_ = grab();
    if (first_.empty())
      throw SourceError(
          ErrorCode::source_empty,
          info_.description + " has no frame that can be decoded; check that it is complete");
    info_.size = first_.size();
  }

  std::optional<Frame> read() override {
    if (interrupted()) return std::nullopt;
    Frame frame;
    frame.image = next_index_ == 0 ? std::exchange(first_, {}) : grab();
    if (frame.image.empty()) {
      warn_if_short();
      return std::nullopt;
    }
    frame.pts = next_pts();
    frame.index = next_index_++;
    if (frame.index == 0) frame.discontinuity = Discontinuity::start;
    return frame;
  }

 private:
  /// After read(), OpenCV's position is the time of the frame just read (and before it, of the one
  /// before). Where a container has no times it stays 0; times never go back here.
  nanoseconds next_pts() {
    const double position = capture_.get(cv::CAP_PROP_POS_MSEC);
    nanoseconds pts{std::isfinite(position) ? std::llround(position * 1e6) : 0};
    if (next_index_ == 0)
      pts = std::max(pts, nanoseconds{0});
    else if (pts <= last_pts_)
      pts = last_pts_ + frame_duration();
    last_pts_ = pts;
    return pts;
  }

  nanoseconds frame_duration() const {
    const double rate = info_.frames_per_second > 0 ? info_.frames_per_second : kFallbackRate;
    return nanoseconds(std::llround(1e9 / rate));
  }

  /// The container's count is an estimate for some forms, so this is no error; but a clip that
  /// breaks off must not look like a whole one.
  void warn_if_short() const {
    if (info_.frames && next_index_ < *info_.frames)
      log(LogLevel::warning, info_.description + " ended after " + std::to_string(next_index_) +
                                 " of " + std::to_string(*info_.frames) +
                                 " frames; it may be cut off or damaged");
  }

  cv::Mat first_;  ///< read at the opening, which so finds out whether anything can be decoded
  nanoseconds last_pts_{0};
};

/// Goes on whether it is read or not: a camera. Its times are those of the capture.
class LiveVideo final : public CaptureSource {
 public:
  LiveVideo(cv::VideoCapture capture, SourceInfo given)
      : CaptureSource(std::move(capture), std::move(given)) {
    info_.live = true;
  }

  std::optional<Frame> read() override {
    if (interrupted()) return std::nullopt;
    Frame frame;
    frame.image = grab();
    const auto now = std::chrono::steady_clock::now();
    if (interrupted()) return std::nullopt;
    if (frame.image.empty())
      throw SourceError(ErrorCode::source_read,
                        info_.description + " gave no more frames after " +
                            std::to_string(next_index_) +
                            "; check the camera and its connection, then open the stream again");
    if (next_index_ == 0) {
      first_at_ = now;
      frame.discontinuity = Discontinuity::start;
    }
    frame.pts = now - first_at_;
    frame.index = next_index_++;
    return frame;
  }

 private:
  std::chrono::steady_clock::time_point first_at_{};
};

std::optional<std::int64_t> frame_count(const cv::VideoCapture& capture) {
  const double count = capture.get(cv::CAP_PROP_FRAME_COUNT);
  // Endless and unknown lengths come out as negative or absurdly large numbers.
  if (!std::isfinite(count) || count < 1 || count > 1e12) return std::nullopt;
  return static_cast<std::int64_t>(count);
}

/// FFmpeg alone, and not whatever OpenCV finds: the others print errors of their own, and read
/// folders and patterns that nobody named.
cv::VideoCapture open_by_ffmpeg(const std::string& name, const std::vector<int>& parameters) {
  cv::VideoCapture capture;
  try {
    capture.open(name, cv::CAP_FFMPEG, parameters);
  } catch (const cv::Exception&) {
    // Tells no more than that it is not open, which the caller sees.
  }
  return capture;
}

/// Messages and logs travel further than a camera's password should.
std::string without_password(const std::string& url) {
  const std::size_t host = url.find("://") + 3;
  const std::size_t at = url.substr(0, url.find('/', host)).rfind('@');
  const std::size_t colon = url.find(':', host);
  if (at == std::string::npos || colon > at) return url;
  return url.substr(0, colon) + ":***" + url.substr(at);
}

std::string webcams_here() {
  std::vector<int> found;
  std::error_code failed;
  for (fs::directory_iterator at("/dev", failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (name.rfind("video", 0) == 0 && name.size() > 5 && name.size() < 9 &&
        std::all_of(name.begin() + 5, name.end(), [](char c) { return c >= '0' && c <= '9'; }))
      found.push_back(std::stoi(name.substr(5)));
  }
  std::sort(found.begin(), found.end());
  std::string text;
  for (const int index : found) text += (text.empty() ? "" : ", ") + std::to_string(index);
  return text.empty() ? "this machine has none" : "this machine has " + text;
}

}  // namespace

std::unique_ptr<Source> open_video_file(const fs::path& path) {
  const std::string name = "file " + path.string();
  std::error_code unknown;
  if (fs::is_regular_file(path, unknown) && fs::file_size(path, unknown) == 0)
    throw SourceError(ErrorCode::source_empty, name + " is empty; check how it was made");
  cv::VideoCapture capture = open_by_ffmpeg(path.string(), {});
  if (!capture.isOpened())
    throw SourceError(ErrorCode::source_open,
                      name +
                          " cannot be opened as a video; it is damaged, not readable, or of a "
                          "form that FFmpeg does not know");
  const std::optional<std::int64_t> frames = frame_count(capture);
  return std::make_unique<StoredVideo>(std::move(capture), SourceInfo{.description = name}, frames);
}

std::unique_ptr<Source> open_webcam(int index) {
  const std::string name = "webcam " + std::to_string(index);
  std::error_code unknown;
  // Asked first: OpenCV prints warnings where there is none.
  if (!fs::exists("/dev/video" + std::to_string(index), unknown))
    throw SourceError(ErrorCode::source_open, name + " does not exist; " + webcams_here());
  cv::VideoCapture capture;
  try {
    capture.open(index, cv::CAP_V4L2);
  } catch (const cv::Exception&) {
  }
  if (!capture.isOpened())
    throw SourceError(ErrorCode::source_open,
                      name +
                          " cannot be opened; another program may be using it, or you may not "
                          "be allowed to (group video)");
  return std::make_unique<LiveVideo>(std::move(capture), SourceInfo{.description = name});
}

std::unique_ptr<Source> open_url(const std::string& url) {
  const std::string name = "URL " + without_password(url);
  cv::VideoCapture capture =
      open_by_ffmpeg(url, {cv::CAP_PROP_OPEN_TIMEOUT_MSEC, kNetworkTimeoutMs,
                           cv::CAP_PROP_READ_TIMEOUT_MSEC, kNetworkTimeoutMs});
  if (!capture.isOpened())
    throw SourceError(ErrorCode::source_open,
                      name +
                          " cannot be opened; check the address, user and password, and that "
                          "the camera can be reached from here");
  const std::optional<std::int64_t> frames = frame_count(capture);
  if (frames)
    return std::make_unique<StoredVideo>(std::move(capture), SourceInfo{.description = name},
                                         frames);
  return std::make_unique<LiveVideo>(std::move(capture), SourceInfo{.description = name});
}

}  // namespace vcap
