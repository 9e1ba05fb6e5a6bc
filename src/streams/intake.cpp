// SPDX-License-Identifier: Apache-2.0
#include "streams/intake.hpp"

#include <algorithm>
#include <utility>

#include "observe/stream_trace.hpp"
#include "streams/stream_account.hpp"
#include "vcap/records/recorded_frames.hpp"

namespace vcap {

Intake::Intake(Rules rules, InFlightLimiter& limiter, StreamAccount& account, StreamTrace* trace)
    : rules_(rules), account_(account), trace_(trace), slots_(limiter) {}

Intake::~Intake() = default;

void Intake::set_look_ahead(std::size_t frames) noexcept {
  look_ahead_ = std::max(look_ahead_, frames);
  slots_.set_look_ahead(look_ahead_);
}

bool Intake::reserve() { return reserved_ = slots_.take(in_flight()); }

void Intake::repeat(const RecordedFrame& recorded) {
  for (const FrameRecord::Drop& drop : recorded.drops) {
    frames_read_ += drop.count;
    account_.add_drops(drop.reason, drop.count);
    between_.add(drop);
  }
  for (const Discontinuity one : recorded.discontinuities) between_.discontinuities.add(one);
}

Intake::Outcome Intake::accept(ReadFrame read, Dropped& dropped) {
  reserved_ = false;
  const bool is_kept = frames_read_++ % rules_.keep_every == 0;
  const Frame& frame = read.frame;
  const bool waits = rules_.overflow == OverflowPolicy::wait;
  if (failed_ || !is_kept || !(waits || make_room(dropped))) {
    drop(frame.index, frame.discontinuity,
         failed_    ? kDropStreamFailed
         : !is_kept ? kDropSkipped
                    : kDropOverload,
         between_);
    dropped.push_back(std::move(read));
    return failed_ ? Outcome::refused : Outcome::dropped;
  }
  read.before = std::exchange(between_, {});
  waiting_.push_back(std::move(read));
  return Outcome::kept;
}

/// Makes room for the frame that was read, by a policy that drops frames. False if that frame is
/// the one to drop. A frame that has begun cannot be dropped; so with `drop_oldest` one frame, the
/// newest, may wait beyond the bound.
bool Intake::make_room(Dropped& dropped) {
  if (rules_.overflow == OverflowPolicy::drop_newest) return has_room() && slots_.take(in_flight());
  while (!waiting_.empty() && !has_room()) drop_oldest(dropped);
  if (slots_.take(in_flight())) return true;
  if (waiting_.empty()) return false;
  drop_oldest(dropped);
  return true;
}

void Intake::drop_oldest(Dropped& dropped) {
  ReadFrame oldest = std::move(waiting_.front());
  waiting_.pop_front();
  reserved_ = true;  // the new frame gets its slot
  // The next frame's record lists this drop, and what the dropped frame's record would have listed.
  DroppedFrames& next = waiting_.empty() ? between_ : waiting_.front().before;
  const DroppedFrames later = std::exchange(next, std::move(oldest.before));
  drop(oldest.frame.index, oldest.frame.discontinuity, kDropOverload, next);
  next.add(later);
  reserved_ = false;
  dropped.push_back(std::move(oldest));
}

std::optional<ReadFrame> Intake::begin() {
  if (waiting_.empty() || begun_ >= most_in_flight()) return std::nullopt;
  std::optional<ReadFrame> next(std::move(waiting_.front()));
  waiting_.pop_front();
  ++begun_;
  return next;
}

void Intake::end() {
  --begun_;
  settle();
}

void Intake::drop_begun(std::int64_t index, Discontinuity discontinuity, const char* reason) {
  drop(index, discontinuity, reason, between_);
}

void Intake::fail(Dropped& dropped) {
  failed_ = true;
  for (ReadFrame& one : std::exchange(waiting_, {})) {
    drop(one.frame.index, one.frame.discontinuity, kDropStreamFailed, between_);
    dropped.push_back(std::move(one));
  }
}

void Intake::close() {
  closed_ = true;
  reserved_ = false;
  settle();
}

void Intake::drop(std::int64_t index, Discontinuity discontinuity, const char* reason,
                  DroppedFrames& before_next) {
  account_.add_drops(reason, 1);
  before_next.add(FrameRecord::Drop{.frame_index = index, .reason = reason});
  before_next.discontinuities.add(discontinuity);
  if (trace_) trace_->dropped(index, reason);
  settle();
}

void Intake::settle() { slots_.settle(in_flight() + (reserved_ ? 1 : 0)); }

}  // namespace vcap
