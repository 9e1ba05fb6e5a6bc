// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "media/clip_cut.hpp"
#include "vcap/algorithms/event.hpp"
#include "vcap/model/frame.hpp"
#include "vcap/records/event_sink.hpp"

namespace vcap {

/// Throws OutputError if the folder does not exist or a clip cannot be encoded on this machine,
/// InvalidArgument if a setting is out of range. Does nothing without a folder.
void validate(const EventClipSettings& settings);

/// What an event's record says of its clip. Thread safety: value.
struct ClipOfEvent {
  std::string name{};  ///< empty: there is none, or not yet
  std::optional<std::chrono::nanoseconds> start{};
  bool is_cut = false;
};

/// The clips of one stream's events: cut from its file, or encoded.
///
/// If they are encoded, the last pictures are kept as JPEGs, for the pre-roll. A clip that is being
/// written is shared by the events that begin in its first half of EventClipSettings::longest. So
/// at most three are written at a time. Pictures of the pre-roll are encoded a few at each frame.
/// Thread safety: thread-compatible.
class StreamClips {
 public:
  /// `settings` has passed validate(). `cutter`: null if clips are encoded. Both must outlive it.
  StreamClips(const EventClipSettings& settings, const ClipCutter* cutter);
  ~StreamClips();
  StreamClips(const StreamClips&) = delete;
  StreamClips& operator=(const StreamClips&) = delete;

  // A failure is kept for take_failure(), and the clip that it costs is counted for take_lost().
  // What the disk has of such a clip gets the clip's name, if it has pictures, since events that
  // have ended name it.
  /// The stream's next frame, before the events that begin and end in it.
  void add(const Frame& frame);
  ClipOfEvent begin(const Event& event);
  ClipOfEvent end(const Event& event);
  /// Completes all clips; no frame follows. Events may still end.
  void finish();

  /// The first failure since the last call; null if there was none.
  std::exception_ptr take_failure() noexcept;
  /// The clips that were lost since the last call, as SinkStats::lost_clips.
  std::map<std::string, std::uint64_t> take_lost() noexcept;
  /// Whether a pre-roll was cut short for the first time, since the last call.
  bool take_short_pre_roll() noexcept;

 private:
  struct Picture {
    std::chrono::nanoseconds pts{};
    std::shared_ptr<const std::vector<unsigned char>> jpeg{};
  };
  class Clip;

  void fail();
  void give_up(Clip& clip);
  void keep(const Frame& frame);
  void end_all();
  void advance();
  ClipOfEvent cut(const Event& event);
  std::shared_ptr<Clip> start(const Event& event);

  const EventClipSettings& settings_;
  const ClipCutter* const cutter_;
  std::deque<Picture> pre_roll_;
  std::size_t pre_roll_bytes_ = 0;
  /// The pts of the last picture that had to go for lack of memory.
  std::optional<std::chrono::nanoseconds> dropped_;
  std::chrono::nanoseconds now_{0};
  std::vector<std::shared_ptr<Clip>> clips_;  ///< being written
  std::map<Uuid, std::shared_ptr<Clip>> of_event_;
  std::exception_ptr failure_;
  std::map<std::string, std::uint64_t> lost_;  ///< by reason
  bool short_pre_roll_ = false;
  bool told_short_pre_roll_ = false;
};

/// The clips that a killed process has left in a folder as NAME.part. Thread safety:
/// thread-compatible.
class UnfinishedClips {
 public:
  explicit UnfinishedClips(std::string folder);

  /// Whether there is a clip of that name. An unfinished one gets it now, if it has pictures and no
  /// other process writes to it.
  bool has(const std::string& name);

 private:
  const std::string folder_;
  std::map<std::string, bool> clips_;  ///< by name; whether it is complete
};

}  // namespace vcap
