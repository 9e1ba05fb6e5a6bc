// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "base/thread_annotations.hpp"
#include "files/digest.hpp"
#include "files/output_file.hpp"
#include "media/lossless_pictures.hpp"
#include "records/recording_files.hpp"
#include "records/recording_line.hpp"
#include "records/recording_losses.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/version.hpp"
#include "vcap/records/buffered_sink.hpp"
#include "vcap/records/recording.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

/// Whether the id can be the name of a folder as it is.
bool is_folder_name(const std::string& id) {
  return !id.empty() && id.size() <= 100 && id.front() != '.' &&
         std::ranges::all_of(id, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
         });
}

/// The records that may wait, within 128 MiB of pixels.
std::size_t automatic_queue(const RecordedStream& stream) {
  if (stream.file) return 1024;
  constexpr std::int64_t kBytes = std::int64_t{128} << 20;
  const std::int64_t picture = std::max<std::int64_t>(1, stream.width * stream.height * 3);
  if (stream.width == 0) return 16;
  return static_cast<std::size_t>(std::clamp<std::int64_t>(kBytes / picture, 4, 64));
}

}  // namespace

/// The folder, its manifest and the counts of its streams. Thread safety: thread-safe.
class Recorder::Folder {
 public:
  Folder(const std::string& path, RecordingManifest manifest)
      : path_(fs::absolute(path)), manifest_(std::move(manifest)) {
    manifest_.vcap_version = std::string(version());
    make_folder(path_);
    for (const RecordedCapsule& capsule : manifest_.capsules)
      if (!capsule.copy.empty()) copy(capsule);
    const MutexLock lock(mutex_);
    write_manifest();
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    if (!keeps_) remove_all();
  }

  /// Makes the folder of a stream. Returns its number and its folder.
  std::pair<std::size_t, fs::path> add(RecordedStream stream) VCAP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    std::set<std::string> taken{kManifestName};
    for (const RecordedStream& other : manifest_.streams) {
      if (other.id == stream.id)
        throw InvalidArgument(ErrorCode::invalid_argument,
                              "recording " + path_.string() + " has a stream " + quote(stream.id) +
                                  " already; give each stream its own id");
      taken.insert(other.folder);
    }
    for (const RecordedCapsule& capsule : manifest_.capsules) taken.insert(capsule.copy);
    const std::size_t number = manifest_.streams.size();
    stream.folder = is_folder_name(stream.id) ? stream.id : "stream-" + std::to_string(number);
    while (taken.contains(stream.folder))
      stream.folder.append(1, '-').append(std::to_string(number));
    fs::path folder = path_ / stream.folder;
    make_folder(folder);
    manifest_.streams.push_back(std::move(stream));
    write_manifest();
    return {number, std::move(folder)};
  }

  /// There is a frame, so the folder stays.
  void keep() noexcept { keeps_ = true; }
  /// The stream's recording is complete.
  void note_end(std::size_t number, std::uint64_t frames, std::uint64_t lost)
      VCAP_EXCLUDES(mutex_) {
    keeps_ = true;
    const MutexLock lock(mutex_);
    RecordedStream& stream = manifest_.streams[number];
    stream.frames = frames;
    stream.lost = lost;
    stream.complete = true;
    write_manifest();
  }

 private:
  static void make_folder(const fs::path& path) {
    std::error_code error;
    if (fs::is_directory(path, error) && fs::is_empty(path, error)) return;
    if (fs::exists(fs::symlink_status(path, error)))
      throw OutputError(ErrorCode::output_open,
                        "recording " + path.string() +
                            " exists already; give another folder, or remove this one");
    if (!fs::create_directory(path, error))
      throw OutputError(ErrorCode::output_open, "recording " + path.string() +
                                                    " cannot be made: " + error.message() +
                                                    "; check that the folder above it exists");
  }

  void copy(const RecordedCapsule& capsule) const {
    std::error_code error;
    if (!fs::copy_file(capsule.file->path, path_ / capsule.copy, error))
      throw OutputError(ErrorCode::output_write, "recording " + path_.string() + ": " +
                                                     capsule.file->path +
                                                     " cannot be copied: " + error.message());
  }

  void write_manifest() VCAP_REQUIRES(mutex_) {
    OutputFile file(path_ / kManifestName, OutputFile::Target::regular_file);
    const nlohmann::json json = manifest_;
    file.write(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    file.commit();
  }

  void remove_all() noexcept {
    const MutexLock lock(mutex_);
    std::error_code ignored;
    for (const RecordedStream& stream : manifest_.streams) {
      fs::remove(path_ / stream.folder / kFramesName, ignored);
      fs::remove(path_ / stream.folder / kPicturesName, ignored);
      fs::remove(path_ / stream.folder, ignored);
    }
    for (const RecordedCapsule& capsule : manifest_.capsules)
      if (!capsule.copy.empty()) fs::remove(path_ / capsule.copy, ignored);
    fs::remove(path_ / kManifestName, ignored);
    fs::remove(path_, ignored);
  }

  const fs::path path_;
  std::atomic<bool> keeps_{false};
  Mutex mutex_;
  RecordingManifest manifest_ VCAP_GUARDED_BY(mutex_);
};

namespace {

template <class Item>
void put_before(std::vector<Item>& list, const std::vector<Item>& earlier) {
  list.insert(list.begin(), earlier.begin(), earlier.end());
}

/// The line of a frame before which others were lost: what they said is in this one.
std::string line_after_loss(FrameRecord record, const std::optional<PicturePlace>& picture,
                            const LostBefore& lost) {
  put_before(record.discontinuities, lost.discontinuities);
  put_before(record.drops, lost.drops);
  put_before(record.option_changes, lost.option_changes);
  put_before(record.replacements, lost.replacements);
  put_before(record.config_changes, lost.config_changes);
  return recording_line(record, picture, lost.frames);
}

/// Writes the frames of one stream, in a thread of its buffered sink.
class FrameWriter final : public Sink {
 public:
  FrameWriter(const fs::path& folder, bool has_pictures, std::shared_ptr<RecordingLosses> losses,
              std::function<void()> on_frame)
      : frames_(folder / kFramesName), losses_(std::move(losses)), on_frame_(std::move(on_frame)) {
    if (!has_pictures) return;
    pictures_.emplace(folder / kPicturesName);
    encoder_.emplace("recording " + folder.string());
  }

  void write(const FrameRecord& record) override {
    LostBefore lost = losses_->arrive(record.frame.index);
    const std::int64_t pictures_before = pictures_ ? pictures_->size() : 0;
    try {
      // The picture first: a line is whole only if its picture is.
      const std::optional<PicturePlace> picture = write_picture(record.frame);
      frames_.append(lost.frames.empty() ? recording_line(record, picture, {})
                                         : line_after_loss(record, picture, lost));
    } catch (...) {
      if (pictures_) pictures_->cut(pictures_before);
      losses_->fail(record, std::move(lost));
      throw;
    }
    if (written_++ == 0) on_frame_();
  }

  bool needs_pixels() const override { return pictures_.has_value(); }
  bool needs_steps() const override { return true; }
  void close() override {
    frames_.sync();
    if (pictures_) pictures_->sync();
  }

  std::uint64_t written() const noexcept { return written_; }

 private:
  std::optional<PicturePlace> write_picture(const Frame& frame) {
    if (!pictures_ || frame.is_null || frame.image.empty()) return std::nullopt;
    const std::span<const std::byte> bytes = encoder_->encode(frame.image);
    const PicturePlace place{.offset = pictures_->size(),
                             .size = static_cast<std::int64_t>(bytes.size()),
                             .crc32 = crc32(bytes)};
    pictures_->append(bytes);
    return place;
  }

  GrowingFile frames_;
  std::optional<GrowingFile> pictures_;
  std::optional<LosslessEncoder> encoder_;
  const std::shared_ptr<RecordingLosses> losses_;
  const std::function<void()> on_frame_;
  std::atomic<std::uint64_t> written_ = 0;
};

/// What a stream writes to: notes each frame, then queues it for the writer.
class RecordingSink final : public Sink {
 public:
  RecordingSink(std::shared_ptr<FrameWriter> writer, std::shared_ptr<RecordingLosses> losses,
                SinkPolicy policy, std::function<void(std::uint64_t, std::uint64_t)> on_end)
      : writer_(writer),
        losses_(std::move(losses)),
        queue_(make_buffered_sink(std::move(writer), std::move(policy))),
        on_end_(std::move(on_end)) {}

  void write(const FrameRecord& record) override {
    losses_->expect(record);
    queue_->write(record);
  }
  bool needs_pixels() const override { return writer_->needs_pixels(); }
  bool needs_steps() const override { return true; }
  std::optional<SinkStats> stats() const override { return queue_->stats(); }

  void close() override {
    if (closed_.exchange(true)) return;
    queue_->close();
    std::uint64_t lost = 0;
    const std::optional<SinkStats> stats = queue_->stats();
    for (const auto& [reason, count] : stats->lost) lost += count;
    on_end_(writer_->written(), lost);
  }

 private:
  const std::shared_ptr<FrameWriter> writer_;
  const std::shared_ptr<RecordingLosses> losses_;
  const std::unique_ptr<Sink> queue_;
  const std::function<void(std::uint64_t, std::uint64_t)> on_end_;
  std::atomic<bool> closed_ = false;
};

}  // namespace

Recorder::Recorder(const std::string& folder, RecordingManifest manifest)
    : Recorder(folder, std::move(manifest), Settings()) {}

Recorder::Recorder(const std::string& folder, RecordingManifest manifest, Settings settings)
    : folder_(std::make_shared<Folder>(folder, std::move(manifest))), settings_(settings) {}

Recorder::~Recorder() = default;

std::shared_ptr<Sink> Recorder::add_stream(RecordedStream stream) {
  const bool has_pictures = !stream.file;
  const std::size_t queue = settings_.queue > 0 ? settings_.queue : automatic_queue(stream);
  auto [number, path] = folder_->add(std::move(stream));
  auto losses = std::make_shared<RecordingLosses>();
  auto writer = std::make_shared<FrameWriter>(path, has_pictures, losses,
                                              [folder = folder_] { folder->keep(); });
  // The newest is dropped, so that a recording that has a gap goes on after it as long as it can.
  return std::make_shared<RecordingSink>(
      std::move(writer), std::move(losses),
      SinkPolicy{.queue = queue,
                 .overflow = SinkOverflowPolicy::drop_newest,
                 .failure = SinkFailurePolicy::skip,
                 .retry_after = settings_.retry_after},
      [folder = folder_, number = number](std::uint64_t frames, std::uint64_t lost) {
        folder->note_end(number, frames, lost);
      });
}

}  // namespace vcap
