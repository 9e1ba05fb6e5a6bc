// SPDX-License-Identifier: Apache-2.0
#include "vcap/records/event_sink.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <random>
#include <set>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "base/thread_annotations.hpp"
#include "files/mapped_file.hpp"
#include "files/output_file.hpp"
#include "files/strict_json.hpp"
#include "media/opencv_io.hpp"
#include "records/event_file.hpp"
#include "records/event_line.hpp"
#include "records/journal_follower.hpp"
#include "records/stream_clips.hpp"
#include "vcap/algorithms/event_detector.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/records/event_record.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

/// Lines that wait because the disk is full: some megabytes.
constexpr std::size_t kMostWaiting = 10'000;

/// So that ids differ from those of other runs, also in one journal.
std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

cv::Size size_of(const FrameRecord& record) {
  return record.frame.image.empty() ? record.resolution : record.frame.image.size();
}

/// Checks the settings. Throws OutputError or InvalidArgument.
EventSinkSettings checked(EventSinkSettings settings) {
  for (const auto& [stream, rules] : settings.rules_of_stream) validate(rules);
  if (settings.snapshot_quality < 1 || settings.snapshot_quality > 100)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "EventSinkSettings: snapshot_quality is " +
                              std::to_string(settings.snapshot_quality) +
                              "; it must be within 1 to 100");
  for (const std::shared_ptr<Publisher>& publisher : settings.publishers)
    if (!publisher)
      throw InvalidArgument(ErrorCode::invalid_argument,
                            "EventSinkSettings: a publisher is null; give none instead");
  validate(settings.clips);
  if (!settings.clips.folder.empty())
    settings.clips.folder = fs::absolute(settings.clips.folder).string();
  if (settings.snapshots.empty()) return settings;
  std::error_code unknown;
  if (!fs::is_directory(settings.snapshots, unknown))
    throw OutputError(ErrorCode::output_open, "the folder of snapshots " + settings.snapshots +
                                                  " does not exist; create it first");
  settings.snapshots =
      fs::absolute(settings.snapshots).string();  // a capsule may change the folder
  return settings;
}

std::map<std::string, std::unique_ptr<const ClipCutter>> cutters_of(
    const EventClipSettings& settings) {
  std::map<std::string, std::unique_ptr<const ClipCutter>> cutters;
  if (settings.folder.empty()) return cutters;
  for (const auto& [stream, file] : settings.files) cutters[stream] = ClipCutter::of(file);
  return cutters;
}

std::function<bool(const std::string&)> clips_in(const std::string& folder) {
  if (folder.empty()) return {};
  return [clips = std::make_shared<UnfinishedClips>(folder)](const std::string& name) {
    return clips->has(name);
  };
}

/// What goes with a change, beside the event itself.
struct EventFiles {
  std::string snapshot{};
  ClipOfEvent clip{};
};

/// The lines of changes that are not in the journal yet. Thread safety: thread-compatible.
class WaitingLines {
 public:
  struct Line {
    EventChange::Phase phase;
    Uuid id;
    std::string text;
  };

  /// Adds the line, unless too many wait: then neither the begin nor the end of an event is added.
  /// Returns false at the first event that is left out.
  bool add(const Line& line) {
    if (line.phase == EventChange::Phase::end) {
      if (left_out_.erase(line.id) > 0) return true;
    } else if (count() >= kMostWaiting) {
      left_out_.insert(line.id);
      return std::exchange(has_warned_, true);
    }
    text_ += line.text;
    return true;
  }
  std::string& text() noexcept { return text_; }

 private:
  std::size_t count() const {
    if (text_.empty()) return 0;
    return static_cast<std::size_t>(std::ranges::count(text_, '\n'));
  }

  std::string text_;
  std::set<Uuid> left_out_;
  bool has_warned_ = false;
};

class EventSink final : public Sink {
 public:
  EventSink(const std::string& path, const EventRules& rules, EventSinkSettings settings)
      : rules_(rules),
        settings_(checked(std::move(settings))),
        cutters_(cutters_of(settings_.clips)),
        file_((validate(rules), path), settings_.sync, clips_in(settings_.clips.folder)) {
    for (const std::shared_ptr<Publisher>& publisher : settings_.publishers)
      followers_.emplace_back(publisher, file_);
    log_news(publish());
  }

  void write(const FrameRecord& record) override {
    Stream& stream = stream_of(record.stream_id);
    const MutexLock lock(stream.mutex);
    const std::vector<EventChange> changes =
        stream.detector.update(record.frame, size_of(record), record.objects);
    count_record();
    if (stream.clips) stream.clips->add(record.frame);
    add_lines(stream, record, changes);
  }

  bool needs_pixels() const override {
    return !settings_.snapshots.empty() || !settings_.clips.folder.empty();
  }

  void allow_losses() override {
    const MutexLock lock(mutex_);
    losses_allowed_ = true;
  }

  std::optional<SinkStats> stats() const override {
    const MutexLock lock(stats_mutex_);
    return stats_;
  }

  void close() override {
    std::exception_ptr failure;
    const std::vector<Stream*> streams = close_streams();
    for (Stream* const stream : streams) {
      const MutexLock lock(stream->mutex);
      std::vector<WaitingLines::Line> lines;
      // The clips first: then it is known which of them the ends can name.
      if (stream->clips) stream->clips->finish();
      for (const EventChange& change : stream->detector.finish())
        lines.push_back(line_of(*stream, change, {.clip = clip_of(*stream, change)}));
      if (stream->clips)
        if (std::exception_ptr own = take_failure(*stream->clips); own && !failure) failure = own;
      const MutexLock file_lock(mutex_);
      for (const WaitingLines::Line& line : lines) waiting_.add(line);
    }
    log_news(store_all());
    if (const std::uint64_t lost = lost_clips(); lost > 0 && !streams.empty())
      log(LogLevel::warning, "the folder of clips " + settings_.clips.folder + ": " +
                                 counted(lost, "clip") + " of events missing or incomplete");
    if (failure && !losses_allowed()) std::rethrow_exception(failure);
  }

 private:
  /// Returns what is to be logged.
  std::vector<std::string> store_all() VCAP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (std::exchange(stored_, true)) return {};
    file_.append(waiting_.text());
    file_.store();
    return publish();
  }

  struct Stream {
    Stream(std::string stream_id, const EventRules& rules,
           std::unique_ptr<StreamClips> clips_of_events)
        : id(std::move(stream_id)),
          detector(rules, random_seed()),
          clips(std::move(clips_of_events)) {}

    const std::string id;
    Mutex mutex;  ///< before EventSink::mutex_
    EventDetector detector VCAP_GUARDED_BY(mutex);
    std::map<Uuid, std::string> snapshots VCAP_GUARDED_BY(mutex);  ///< of open events
    std::unique_ptr<StreamClips> clips VCAP_GUARDED_BY(mutex);     ///< null: none are wanted
  };

  Stream& stream_of(const std::string& id) VCAP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (closed_) fail_closed();
    std::unique_ptr<Stream>& stream = streams_[id];
    if (!stream) {
      const auto own = settings_.rules_of_stream.find(id);
      stream = std::make_unique<Stream>(
          id, own != settings_.rules_of_stream.end() ? own->second : rules_, make_clips(id));
    }
    return *stream;
  }

  /// Null if none are wanted.
  std::unique_ptr<StreamClips> make_clips(const std::string& stream) const {
    if (settings_.clips.folder.empty()) return nullptr;
    const auto cutter = cutters_.find(stream);
    return std::make_unique<StreamClips>(settings_.clips,
                                         cutter != cutters_.end() ? cutter->second.get() : nullptr);
  }

  void count_record() VCAP_EXCLUDES(stats_mutex_) {
    const MutexLock lock(stats_mutex_);
    ++stats_.written;
  }

  /// The first failure since the last call, which is counted with the clips that were lost; null if
  /// there was none.
  std::exception_ptr take_failure(StreamClips& clips) VCAP_EXCLUDES(stats_mutex_) {
    std::exception_ptr failure = clips.take_failure();
    const std::map<std::string, std::uint64_t> lost = clips.take_lost();
    if (!failure && lost.empty()) return nullptr;
    std::optional<std::string> why;
    if (failure) why = exception_text(failure);
    const MutexLock lock(stats_mutex_);
    for (const auto& [reason, count] : lost) stats_.lost_clips[reason] += count;
    if (why) stats_.last_failure = std::move(why);
    return failure;
  }

  std::uint64_t lost_clips() const VCAP_EXCLUDES(stats_mutex_) {
    const MutexLock lock(stats_mutex_);
    std::uint64_t lost = 0;
    for (const auto& [reason, count] : stats_.lost_clips) lost += count;
    return lost;
  }

  bool losses_allowed() VCAP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return losses_allowed_;
  }

  std::vector<Stream*> close_streams() VCAP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    std::vector<Stream*> streams;
    if (std::exchange(closed_, true)) return streams;
    for (const auto& [id, stream] : streams_) streams.push_back(stream.get());
    return streams;
  }

  /// Gives what is in the journal to the publishers. Returns what is to be logged.
  std::vector<std::string> publish() VCAP_REQUIRES(mutex_) {
    std::vector<std::string> news;
    for (JournalFollower& follower : followers_)
      if (std::string warning = follower.follow(file_); !warning.empty())
        news.push_back(std::move(warning));
    return news;
  }

  /// Without the lock: the host's log hook may use this sink.
  static void log_news(const std::vector<std::string>& news) {
    for (const std::string& text : news) log(LogLevel::warning, text);
  }

  [[noreturn]] void fail_closed() const VCAP_REQUIRES(mutex_) {
    throw OutputError(
        ErrorCode::output_write,
        "event journal " + file_.path() +
            " is closed already; close a sink after the last stream that writes to it");
  }

  void add_lines(Stream& stream, const FrameRecord& record, const std::vector<EventChange>& changes)
      VCAP_REQUIRES(stream.mutex) VCAP_EXCLUDES(mutex_) {
    std::exception_ptr failure;
    std::vector<WaitingLines::Line> lines;
    for (const EventChange& change : changes) {
      std::string snapshot;
      ClipOfEvent clip = clip_of(stream, change);
      try {
        if (change.phase == EventChange::Phase::begin)
          snapshot = store_snapshot(record, change.event);
      } catch (const Error&) {
        if (!failure) failure = std::current_exception();
      }
      lines.push_back(line_of(stream, change, {std::move(snapshot), std::move(clip)}));
    }
    std::vector<std::string> news;
    std::exception_ptr clip_failure;
    if (stream.clips) {
      clip_failure = take_failure(*stream.clips);
      if (stream.clips->take_short_pre_roll())
        news.push_back("stream " + stream.id + ": the pictures before an event do not fit into " +
                       std::to_string(settings_.clips.pre_roll_bytes) +
                       " bytes; its clip begins later than wanted (clip_cut)");
    }
    if (lines.empty() && !clip_failure) return log_news(news);
    append(lines, {failure, clip_failure}, std::move(news));
  }

  ClipOfEvent clip_of(Stream& stream, const EventChange& change) VCAP_REQUIRES(stream.mutex) {
    if (!stream.clips) return {};
    return change.phase == EventChange::Phase::begin ? stream.clips->begin(change.event)
                                                     : stream.clips->end(change.event);
  }

  /// Null if there was none.
  struct Failures {
    std::exception_ptr snapshot, clip;
  };

  void append(const std::vector<WaitingLines::Line>& lines, const Failures& failures,
              std::vector<std::string> news) VCAP_EXCLUDES(mutex_) {
    bool losses_allowed = false;
    {
      const MutexLock lock(mutex_);
      if (closed_) fail_closed();
      losses_allowed = losses_allowed_;
      for (const WaitingLines::Line& line : lines)
        if (!waiting_.add(line))
          news.push_back("event journal " + file_.path() + ": " + std::to_string(kMostWaiting) +
                         " lines wait for the disk; further events are not recorded until it has "
                         "room");
      if (failures.snapshot && losses_allowed && !std::exchange(has_warned_, true))
        news.push_back(exception_text(failures.snapshot) +
                       "; such events are recorded without a snapshot");
      if (failures.clip && losses_allowed && !std::exchange(has_warned_of_clips_, true))
        news.push_back(exception_text(failures.clip) +
                       "; such clips of events are missing or incomplete");
      file_.append(waiting_.text());
      for (std::string& text : publish()) news.push_back(std::move(text));
    }
    log_news(news);
    if (losses_allowed) return;
    if (failures.snapshot) std::rethrow_exception(failures.snapshot);
    if (failures.clip) std::rethrow_exception(failures.clip);
  }

  /// Returns the name of the file; empty if none is wanted. Throws OutputError.
  std::string store_snapshot(const FrameRecord& record, const Event& event) const {
    if (settings_.snapshots.empty() || record.frame.image.empty()) return {};
    std::string name = event.id.to_string() + ".jpg";
    try {
      const auto bytes =
          opencv_io().encode_image(record.frame.image, ".jpg", settings_.snapshot_quality);
      OutputFile file(fs::path(settings_.snapshots) / name, OutputFile::Target::regular_file);
      file.write(std::as_bytes(std::span(bytes)));
      file.commit();
    } catch (const OutputError&) {
      throw;
    } catch (const std::exception& error) {
      throw OutputError(ErrorCode::output_write,
                        "snapshot " + name + " cannot be made: " + error.what());
    }
    return name;
  }

  static WaitingLines::Line line_of(Stream& stream, const EventChange& change, EventFiles files)
      VCAP_REQUIRES(stream.mutex) {
    std::string& snapshot = files.snapshot;
    const Uuid& id = change.event.id;
    if (change.phase == EventChange::Phase::begin) {
      if (!snapshot.empty()) stream.snapshots.emplace(id, snapshot);
    } else if (auto known = stream.snapshots.extract(id)) {
      snapshot = std::move(known.mapped());
    }
    return {change.phase, id,
            event_line({stream.id, change.phase, change.event, std::move(snapshot),
                        std::move(files.clip.name), files.clip.start, files.clip.is_cut})};
  }

  const EventRules rules_;
  const EventSinkSettings settings_;
  /// By stream; null if its file cannot be cut.
  const std::map<std::string, std::unique_ptr<const ClipCutter>> cutters_;
  Mutex mutex_;
  EventFile file_ VCAP_GUARDED_BY(mutex_);
  std::vector<JournalFollower> followers_ VCAP_GUARDED_BY(mutex_);
  WaitingLines waiting_ VCAP_GUARDED_BY(mutex_);
  std::map<std::string, std::unique_ptr<Stream>> streams_ VCAP_GUARDED_BY(mutex_);
  bool closed_ VCAP_GUARDED_BY(mutex_) = false;
  bool stored_ VCAP_GUARDED_BY(mutex_) = false;  ///< close() has written all
  bool losses_allowed_ VCAP_GUARDED_BY(mutex_) = false;
  bool has_warned_ VCAP_GUARDED_BY(mutex_) = false;
  bool has_warned_of_clips_ VCAP_GUARDED_BY(mutex_) = false;
  mutable Mutex stats_mutex_;  ///< after the others: stats() does not wait for the disk
  SinkStats stats_ VCAP_GUARDED_BY(stats_mutex_);
};

}  // namespace

EventRules read_event_rules(const std::string& path) {
  try {
    const auto file = MappedFile::open(path);
    const auto bytes = file->bytes();
    return parse_strictly({reinterpret_cast<const char*>(bytes.data()), bytes.size()})
        .get<EventRules>();
  } catch (const std::system_error& error) {
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "event rules " + path + " cannot be read: " + error.code().message() +
                              "; check the path and its permissions");
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(error.code(), "event rules " + path + ": " + error.what());
  }
}

std::unique_ptr<Sink> make_event_sink(const std::string& path, const EventRules& rules,
                                      EventSinkSettings settings) {
  return std::make_unique<EventSink>(path, rules, std::move(settings));
}

}  // namespace vcap
