// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <utility>

#include <opencv2/imgproc.hpp>

#include "base/text.hpp"
#include "base/thread_annotations.hpp"
#include "files/output_file.hpp"
#include "media/clip_format.hpp"
#include "media/clip_writer.hpp"
#include "media/fitted_picture.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/image/make_annotators.hpp"
#include "vcap/model/picture_description.hpp"
#include "vcap/records/sink.hpp"

namespace vcap {
namespace {

double rate_of(double frames_per_second) {
  if (frames_per_second >= 0 && frames_per_second <= 1000) return frames_per_second;
  throw InvalidArgument(
      ErrorCode::invalid_argument,
      "frames_per_second of an annotated video: " + number_text(frames_per_second) +
          " is not within 0 to 1000; give 0 if the rate is unknown");
}

/// A picture of a capsule as the encoder takes it, 8 bit BGR. Shares the pixels if it is that
/// already.
cv::Mat as_bgr(const cv::Mat& picture, const std::string& name, const std::string& path) {
  cv::Mat image;
  switch (picture.type()) {
    case CV_8UC3:
      return picture;
    case CV_8UC1:
      cv::cvtColor(picture, image, cv::COLOR_GRAY2BGR);
      return image;
    case CV_8UC4:
      cv::cvtColor(picture, image, cv::COLOR_BGRA2BGR);
      return image;
    default:
      throw OutputError(ErrorCode::output_write,
                        "output " + path + ": picture " + quote(name) + " is of type " +
                            picture_type_text(picture.type()) +
                            ", and a clip takes 8UC1, 8UC3 or 8UC4; have the capsule give it in "
                            "one of these, or write it by a callback sink");
  }
}

/// Writes one picture for each record: the frame with its nodes, or what a capsule gave.
class VideoSink final : public Sink {
 public:
  /// `picture`: absent: the frames with what the annotator draws.
  VideoSink(const std::filesystem::path& path, std::optional<std::string> picture,
            double frames_per_second, const VideoEncoding& encoding,
            std::unique_ptr<Annotator> annotator)
      : picture_(std::move(picture)),
        annotator_(std::move(annotator)),
        path_(path.string()),
        format_(clip_format(path, encoding)),
        rate_(rate_of(frames_per_second)),
        file_(path, OutputFile::Target::regular_file, OutputFile::Unfinished::kept) {}

  void write(const FrameRecord& record) override {
    cv::Mat image;
    try {
      image = picture_of(record);
    } catch (...) {
      const MutexLock lock(mutex_);
      broken_ = !losses_allowed_;  // if losses are allowed, the clip lacks this frame
      throw;
    }
    // Without the lock: the host's log hook may use this sink.
    const std::string news = note_size(image.size());
    if (!news.empty()) log(LogLevel::warning, news);
    const MutexLock lock(mutex_);
    if (image.empty()) image = last_;
    if (image.empty()) return;
    if (closed_) fail("is closed already; close a sink after the stream that writes to it");
    try {
      if (!clip_) open(image.size());
      if (image.size() != size_) image = fitted(image, size_);
      clip_->write(image, record.frame.pts);
    } catch (...) {
      broken_ = !losses_allowed_;
      throw;
    }
    last_ = std::move(image);
  }

  bool needs_pixels() const override { return !picture_; }
  std::vector<std::string> pictures() const override {
    return picture_ ? std::vector<std::string>{*picture_} : annotator_->pictures();
  }

  void allow_losses() override {
    const MutexLock lock(mutex_);
    losses_allowed_ = true;
  }

  void close() override {
    if (const std::string news = finish(); !news.empty()) log(LogLevel::warning, news);
  }

 private:
  /// Empty for a null frame, and for one that lacks the picture, or whose picture may rest on what
  /// a failed capsule did not find.
  cv::Mat picture_of(const FrameRecord& record) const {
    if (record.frame.is_null) return {};
    if (picture_) {
      if (!record.errors.empty()) return {};
      const cv::Mat* const given = record.frame.pictures.find(*picture_);
      return given == nullptr || given->empty() ? cv::Mat() : as_bgr(*given, *picture_, path_);
    }
    cv::Mat image = record.frame.image.clone();  // the pixels of frames are shared
    annotator_->annotate(image, record.objects, record.frame);
    return image;
  }

  [[noreturn]] void fail(const std::string& why) const VCAP_REQUIRES(mutex_) {
    throw OutputError(ErrorCode::output_write, "output " + file_.path().string() + " " + why);
  }

  void open(cv::Size size) VCAP_REQUIRES(mutex_) {
    size_ = size;
    clip_.emplace(file_, format_, size, rate_);
  }

  /// Returns the text to log, if any.
  std::string finish() VCAP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (std::exchange(closed_, true)) return {};
    if (broken_) {
      const std::string remains = file_.remains();
      fail("is incomplete, because writing failed" +
           (remains.empty() ? "" : "; " + remains + ", which is readable up to its last second"));
    }
    if (!clip_) {
      file_.discard();
      return "output " + file_.path().string() + " got no frames, so no clip was written";
    }
    clip_->finish();
    file_.commit();
    return {};
  }

  /// The text to log if this is the first picture whose size is not the clip's.
  std::string note_size(cv::Size size) VCAP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (!clip_ || closed_ || size.empty() || size == size_ || std::exchange(warned_, true))
      return {};
    return "output " + file_.path().string() + ": frames changed from " +
           std::to_string(size_.width) + " × " + std::to_string(size_.height) + " to " +
           std::to_string(size.width) + " × " + std::to_string(size.height) +
           " pixels and are fitted into the clip";
  }

  const std::optional<std::string> picture_;  ///< absent: the frames with their nodes
  /// Null if there is a picture. Has no lock: it may be the host's, and the sink is for one stream,
  /// which writes one record at a time.
  const std::unique_ptr<Annotator> annotator_;
  const std::string path_;  ///< for messages
  const ClipFormat format_;
  const double rate_;
  Mutex mutex_;
  OutputFile file_ VCAP_GUARDED_BY(mutex_);
  /// Writes to file_; made for the first picture.
  std::optional<ClipWriter> clip_ VCAP_GUARDED_BY(mutex_);
  cv::Size size_ VCAP_GUARDED_BY(mutex_);
  cv::Mat last_ VCAP_GUARDED_BY(mutex_);  ///< as it was written
  bool warned_ VCAP_GUARDED_BY(mutex_) = false;
  bool closed_ VCAP_GUARDED_BY(mutex_) = false;
  bool broken_ VCAP_GUARDED_BY(mutex_) = false;
  bool losses_allowed_ VCAP_GUARDED_BY(mutex_) = false;
};

}  // namespace

std::unique_ptr<Sink> make_annotated_video_sink(const std::string& path, double frames_per_second,
                                                const VideoEncoding& encoding,
                                                std::unique_ptr<Annotator> annotator) {
  if (!annotator) annotator = make_annotators(kDefaultAnnotators);
  return std::make_unique<VideoSink>(path, std::nullopt, frames_per_second, encoding,
                                     std::move(annotator));
}

std::unique_ptr<Sink> make_picture_video_sink(const std::string& path, const std::string& picture,
                                              double frames_per_second,
                                              const VideoEncoding& encoding) {
  if (picture.empty())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "output " + path +
                              ": the name of the picture that it shows is empty; give a name of "
                              "CapsuleInfo::gives_pictures");
  return std::make_unique<VideoSink>(path, picture, frames_per_second, encoding, nullptr);
}

}  // namespace vcap
