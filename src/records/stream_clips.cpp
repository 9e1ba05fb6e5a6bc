// SPDX-License-Identifier: Apache-2.0
#include "records/stream_clips.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "files/file_descriptor.hpp"
#include "files/output_file.hpp"
#include "media/clip_format.hpp"
#include "media/clip_writer.hpp"
#include "media/fitted_picture.hpp"
#include "media/opencv_io.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using std::chrono::nanoseconds;

constexpr const char* kEncodedClip = ".mp4";
constexpr const char* kUnfinishedClip = ".part";
/// Reasons for losses, as in SinkStats.
constexpr const char* kMissingClip = "missing";
constexpr const char* kIncompleteClip = "incomplete";
/// High enough that the encoder's own loss outweighs it.
constexpr int kPreRollQuality = 90;
/// At each frame, of one clip. It must be above 2, which may wait in the encoder: then the first
/// picture is on the disk before an event names the clip. More would hold up the stream longer.
constexpr int kPicturesAtAFrame = 3;

[[noreturn]] void refuse_clips(const std::string& why) {
  throw InvalidArgument(ErrorCode::invalid_argument, "EventClipSettings: " + why);
}

std::string clip_seconds(nanoseconds time) {
  return number_text(std::chrono::duration<double>(time).count()) + " s";
}

/// Whether the frame does not show what follows the pictures before it.
bool begins_anew(const Frame& frame) {
  return frame.discontinuity == Discontinuity::start ||
         frame.discontinuity == Discontinuity::seek || frame.discontinuity == Discontinuity::loop;
}

}  // namespace

void validate(const EventClipSettings& settings) {
  if (settings.folder.empty()) return;
  for (const auto& [name, time] :
       {std::pair("pre_roll", settings.pre_roll), std::pair("post_roll", settings.post_roll)})
    if (time < nanoseconds(0) || time > std::chrono::hours(24))
      refuse_clips(std::string(name) + " is " + clip_seconds(time) +
                   "; it must be from 0 s to 1 day");
  if (settings.longest <= nanoseconds(0) ||
      settings.longest < settings.pre_roll + settings.post_roll ||
      settings.longest > std::chrono::hours(24 * 7))
    refuse_clips("longest is " + clip_seconds(settings.longest) +
                 "; it must be above 0 s, at least pre_roll + post_roll, and at most 7 days");
  if (settings.pre_roll_bytes == 0) refuse_clips("pre_roll_bytes is 0; it must be above 0");
  std::error_code unknown;
  if (!fs::is_directory(settings.folder, unknown))
    throw OutputError(ErrorCode::output_open, "the folder of clips " + settings.folder +
                                                  " does not exist; create it first");
  static_cast<void>(clip_format(fs::path(settings.folder) / "clip.mp4", settings.encoding));
}

/// An encoded clip that is being written.
class StreamClips::Clip {
 public:
  Clip(const EventClipSettings& settings, std::string file_name, std::deque<Picture> pictures)
      : name(std::move(file_name)),
        begin(pictures.front().pts),
        file_(fs::path(settings.folder) / name, OutputFile::Target::regular_file,
              OutputFile::Unfinished::kept),
        format_(clip_format(file_.path(), settings.encoding)),
        waiting_(std::move(pictures)) {}

  const std::string name;
  const nanoseconds begin;  ///< of the first picture
  bool lacks_pre_roll = false;
  bool takes_frames = true;
  bool lacks_pictures = false;  ///< some in between
  bool is_broken = false;
  bool is_kept = false;   ///< broken, but what there is of it has its name
  std::set<Uuid> open{};  ///< events that have not ended
  nanoseconds until{};    ///< the end of the post-roll of those that have

  void add(const cv::Mat& image, const Picture& picture) {
    if (waiting_.empty())
      write(image, picture.pts);
    else
      waiting_.push_back(picture);
  }
  /// Encodes what waits, at most so many pictures. Whether all are encoded.
  bool encode(int most) {
    for (; most > 0 && !waiting_.empty(); --most) {
      const Picture picture = std::move(waiting_.front());
      waiting_.pop_front();
      write(opencv_io().decode_image(*picture.jpeg), picture.pts);
    }
    return waiting_.empty();
  }
  void complete() {
    while (!encode(kPicturesAtAFrame)) continue;
    writer_->finish();
    file_.commit();
  }
  /// Removes a clip that no event names.
  void discard() noexcept { file_.discard(); }
  /// Gives up the rest of the clip after a failure, and names what the disk has of it.
  void break_off() {
    is_broken = true;
    writer_.reset();
    waiting_.clear();
    try {
      if (!has_pictures(file_.written_at())) return;
      file_.commit();
      is_kept = true;
    } catch (const Error&) {
      // The first failure is the one to report.
    }
  }

 private:
  void write(cv::Mat image, nanoseconds pts) {
    if (!writer_) {
      size_ = image.size();
      writer_.emplace(file_, format_, size_, 0);
    }
    if (image.size() != size_) image = fitted(image, size_);
    writer_->write(image, pts);
    // At once: a clip with a picture keeps its name, whatever happens later.
    if (!has_stored_) has_stored_ = writer_->store();
  }

  OutputFile file_;
  const ClipFormat format_;
  std::deque<Picture> waiting_;  ///< of the pre-roll, and what came meanwhile
  cv::Size size_;
  std::optional<ClipWriter> writer_;
  bool has_stored_ = false;  ///< the first picture
};

StreamClips::StreamClips(const EventClipSettings& settings, const ClipCutter* cutter)
    : settings_(settings), cutter_(cutter) {}

StreamClips::~StreamClips() = default;

/// Called in a handler.
void StreamClips::fail() {
  if (!failure_) failure_ = std::current_exception();
}

/// Called in a handler.
void StreamClips::give_up(Clip& clip) {
  fail();
  clip.break_off();
  ++lost_[clip.is_kept ? kIncompleteClip : kMissingClip];
}

std::exception_ptr StreamClips::take_failure() noexcept { return std::exchange(failure_, nullptr); }

std::map<std::string, std::uint64_t> StreamClips::take_lost() noexcept {
  return std::exchange(lost_, {});
}

bool StreamClips::take_short_pre_roll() noexcept { return std::exchange(short_pre_roll_, false); }

void StreamClips::add(const Frame& frame) {
  if (cutter_) return;
  if (begins_anew(frame)) {
    end_all();
    advance();
    pre_roll_.clear();
    pre_roll_bytes_ = 0;
    dropped_.reset();
  }
  now_ = frame.pts;
  for (const std::shared_ptr<Clip>& clip : clips_)
    if (now_ - clip->begin >= settings_.longest || (clip->open.empty() && now_ > clip->until))
      clip->takes_frames = false;
  if (!frame.image.empty()) {
    try {
      keep(frame);
    } catch (const Error&) {
      fail();
      for (const std::shared_ptr<Clip>& clip : clips_)
        clip->lacks_pictures = clip->lacks_pictures || clip->takes_frames;
      return;
    }
    for (const std::shared_ptr<Clip>& clip : clips_) {
      if (!clip->takes_frames || clip->is_broken) continue;
      try {
        clip->add(frame.image, pre_roll_.back());
      } catch (const Error&) {
        give_up(*clip);
      }
    }
  }
  advance();
}

/// Keeps the picture, and those before it within the pre-roll.
void StreamClips::keep(const Frame& frame) {
  auto jpeg = std::make_shared<const std::vector<unsigned char>>(
      opencv_io().encode_image(frame.image, ".jpg", kPreRollQuality));
  pre_roll_bytes_ += jpeg->size();
  pre_roll_.push_back({frame.pts, std::move(jpeg)});
  while (pre_roll_.size() > 1) {
    const bool is_late = pre_roll_.front().pts < frame.pts - settings_.pre_roll;
    if (!is_late && pre_roll_bytes_ <= settings_.pre_roll_bytes) break;
    if (!is_late) dropped_ = pre_roll_.front().pts;
    pre_roll_bytes_ -= pre_roll_.front().jpeg->size();
    pre_roll_.pop_front();
  }
}

void StreamClips::end_all() {
  for (const std::shared_ptr<Clip>& clip : clips_) clip->takes_frames = false;
}

/// Encodes what waits, and completes the clips that have all.
void StreamClips::advance() {
  for (const std::shared_ptr<Clip>& clip : clips_) {
    if (clip->is_broken) continue;
    try {
      if (!clip->encode(kPicturesAtAFrame) || clip->takes_frames) continue;
      clip->complete();
      if (clip->lacks_pictures) ++lost_[kIncompleteClip];
    } catch (const Error&) {
      give_up(*clip);
    }
  }
  std::erase_if(clips_, [](const std::shared_ptr<Clip>& clip) {
    return clip->is_broken || (!clip->takes_frames && clip->encode(0));
  });
}

ClipOfEvent StreamClips::begin(const Event& event) {
  if (cutter_ || pre_roll_.empty()) return {};
  const auto running = std::ranges::find_if(clips_, [this](const std::shared_ptr<Clip>& clip) {
    return clip->takes_frames && !clip->is_broken && now_ - clip->begin <= settings_.longest / 2;
  });
  std::shared_ptr<Clip> clip;
  try {
    clip = running != clips_.end() ? *running : start(event);
  } catch (const Error&) {
    fail();
    ++lost_[kMissingClip];
    return {};
  }
  clip->open.insert(event.id);
  of_event_.emplace(event.id, clip);
  return {.name = clip->name, .start = clip->begin, .is_cut = clip->lacks_pre_roll};
}

std::shared_ptr<StreamClips::Clip> StreamClips::start(const Event& event) {
  auto clip = std::make_shared<Clip>(settings_, event.id.to_string() + kEncodedClip, pre_roll_);
  clip->lacks_pre_roll = dropped_ && *dropped_ >= now_ - settings_.pre_roll;
  if (clip->lacks_pre_roll && !std::exchange(told_short_pre_roll_, true)) short_pre_roll_ = true;
  try {
    clip->encode(kPicturesAtAFrame);
  } catch (const Error&) {
    clip->discard();
    throw;
  }
  clips_.push_back(clip);
  return clip;
}

ClipOfEvent StreamClips::end(const Event& event) {
  if (cutter_) return cut(event);
  const auto known = of_event_.extract(event.id);
  if (!known) return {};
  Clip& clip = *known.mapped();
  const nanoseconds until = event.end.value_or(event.begin).pts + settings_.post_roll;
  clip.open.erase(event.id);
  clip.until = std::max(clip.until, until);
  if (clip.is_broken && !clip.is_kept) return {};
  return {.name = clip.name,
          .start = clip.begin,
          .is_cut = clip.is_broken || clip.lacks_pictures || clip.lacks_pre_roll ||
                    until - clip.begin > settings_.longest};
}

ClipOfEvent StreamClips::cut(const Event& event) {
  const nanoseconds from = std::max(event.begin.pts - settings_.pre_roll, nanoseconds(0));
  const nanoseconds wanted = event.end.value_or(event.begin).pts + settings_.post_roll;
  const nanoseconds to = std::min(wanted, from + settings_.longest);
  const std::string name = event.id.to_string() + cutter_->extension();
  try {
    OutputFile file(fs::path(settings_.folder) / name, OutputFile::Target::regular_file);
    const nanoseconds start = cutter_->cut(from, to, file);
    file.commit();
    return {.name = name, .start = start, .is_cut = to < wanted};
  } catch (const Error&) {
    fail();
    ++lost_[kMissingClip];
    return {};
  }
}

void StreamClips::finish() {
  end_all();
  while (!clips_.empty()) advance();
}

UnfinishedClips::UnfinishedClips(std::string folder) : folder_(std::move(folder)) {
  if (folder_.empty()) return;
  std::error_code unknown;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, unknown)) {
    std::string name = entry.path().filename().string();
    const bool is_unfinished = name.ends_with(kUnfinishedClip);
    if (is_unfinished) name.resize(name.size() - std::string(kUnfinishedClip).size());
    bool& is_complete = clips_[name];
    is_complete = is_complete || !is_unfinished;
  }
}

bool UnfinishedClips::has(const std::string& name) {
  const auto known = clips_.find(name);
  if (known == clips_.end()) return false;
  if (known->second) return true;
  const fs::path path = fs::path(folder_) / name;
  fs::path part = path;
  part += kUnfinishedClip;
  const FileDescriptor file(::open(part.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  std::error_code failed;
  known->second = file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && has_pictures(part);
  if (known->second) fs::rename(part, path, failed);
  known->second = known->second && !failed;
  return known->second;
}

}  // namespace vcap
