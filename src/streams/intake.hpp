// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "streams/dropped_frames.hpp"
#include "streams/stream_slots.hpp"
#include "vcap/streams/stream_config.hpp"

namespace vcap {

struct RecordedFrame;
struct Route;
class StreamAccount;
class StreamTrace;

/// A frame that was read and has not begun.
struct ReadFrame {
  Frame frame{};
  std::shared_ptr<const Route> route{};
  std::chrono::steady_clock::time_point read_at{};
  std::uint64_t trace_frame = 0;  ///< StreamTrace::read()
  DroppedFrames before{};         ///< set by Intake: the drops since the frame before
  std::shared_ptr<const RecordedFrame> recorded{};  ///< null: the frame runs for the first time
};

/// The frames of a stream from reading until they begin, those that are dropped instead, and the
/// number of frames in flight.
///
/// A passive machine: its stream reports events to it, and asks it what may begin. Each frame that
/// accept() has taken is returned once by begin(), or counted once as dropped. Thread safety:
/// thread-compatible.
class Intake {
 public:
  struct Rules {
    OverflowPolicy overflow = OverflowPolicy::wait;  ///< never `automatic`
    std::size_t frames_in_flight = 1;
    std::int64_t keep_every = 1;
  };
  enum class Outcome {
    kept,     ///< the frame waits for begin()
    dropped,  ///< it was counted as dropped
    refused   ///< likewise, and no later frame is wanted
  };

  /// The frames that an event has dropped. They are better destroyed without a lock: each may be
  /// the last to hold a route, and with it a capsule.
  using Dropped = std::vector<ReadFrame>;

  /// `account` and `trace` get each drop; `trace` is null if no trace is wanted.
  Intake(Rules rules, InFlightLimiter& limiter, StreamAccount& account, StreamTrace* trace);
  ~Intake();
  Intake(const Intake&) = delete;
  Intake& operator=(const Intake&) = delete;

  /// The number of frames that wait for later ones; they are allowed beyond the bound. Never
  /// lowered.
  void set_look_ahead(std::size_t frames) noexcept;

  // Before reading, with `OverflowPolicy::wait`.
  bool has_room() const noexcept { return in_flight() < most_in_flight(); }
  /// Reserves a slot for the next frame; false if the pipeline has none.
  bool reserve();
  StreamSlots& slots() noexcept { return slots_; }

  /// The next frame that is read has these drops and discontinuities before it, since it runs once
  /// more.
  void repeat(const RecordedFrame& recorded);
  /// Takes a frame that was read. Uses the reserved slot, or drops frames as the policy says, which
  /// it adds to `dropped`.
  Outcome accept(ReadFrame read, Dropped& dropped);
  /// Takes the next frame to begin; `nullopt` if none waits or none may begin.
  std::optional<ReadFrame> begin();
  /// A frame that has begun was delivered.
  void end();
  /// A frame that has begun will not be recorded. It still needs end().
  void drop_begun(std::int64_t index, Discontinuity discontinuity, const char* reason);
  /// Drops all frames that wait; those that are still read are refused.
  void fail(Dropped& dropped);
  /// No frame will be read.
  void close();

  /// No frame waits and none will be read.
  bool is_exhausted() const noexcept { return closed_ && waiting_.empty(); }
  bool is_empty() const noexcept { return waiting_.empty(); }
  std::size_t waiting() const noexcept { return waiting_.size(); }
  std::size_t in_flight() const noexcept { return waiting_.size() + begun_; }
  std::size_t begun() const noexcept { return begun_; }
  /// Whether `frames` more frames have room.
  bool has_room_for(std::size_t frames) const noexcept {
    return in_flight() + frames <= most_in_flight();
  }
  std::int64_t frames_read() const noexcept { return frames_read_; }

 private:
  std::size_t most_in_flight() const noexcept { return rules_.frames_in_flight + look_ahead_; }
  bool make_room(Dropped& dropped);
  void drop_oldest(Dropped& dropped);
  void drop(std::int64_t index, Discontinuity discontinuity, const char* reason,
            DroppedFrames& before_next);
  void settle();

  const Rules rules_;
  StreamAccount& account_;
  StreamTrace* const trace_;
  StreamSlots slots_;
  std::size_t look_ahead_ = 0;
  std::deque<ReadFrame> waiting_;
  DroppedFrames between_;  ///< drops since the newest frame that waits
  std::size_t begun_ = 0;  ///< begun and not yet delivered
  std::int64_t frames_read_ = 0;
  bool reserved_ = false;  ///< there is a slot for the frame that is being read
  bool failed_ = false;
  bool closed_ = false;
};

}  // namespace vcap
