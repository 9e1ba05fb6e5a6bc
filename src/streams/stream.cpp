// SPDX-License-Identifier: Apache-2.0
#include "streams/stream.hpp"

#include <algorithm>
#include <utility>

#include "base/adaptive_lock.hpp"
#include "base/text.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {

Stream::Stream(std::string id, std::unique_ptr<Source> source,
               std::vector<std::shared_ptr<Sink>> sinks, StreamRules rules, StreamServices services)
    : PipelineStream(std::move(id), std::move(rules)),
      sinks_(std::move(sinks)),
      source_name_(source->info().description),
      services_(std::move(services)),
      trace_(StreamTrace::make(services_.trace, id_)),
      source_(std::move(source)) {
  report_.id = id_;
  report_.not_sliced = rules_.not_sliced;
}

Stream::~Stream() { join(); }

void Stream::start() {
  {
    const std::lock_guard lock(mutex_);
    opened_ = std::chrono::steady_clock::now();
  }
  thread_ = std::thread([this] { read_frames(); });
}

void Stream::stop() noexcept {
  stopping_ = true;
  {
    // The reader holds the lock from its check of the flag until it waits, so it cannot miss this.
    const std::lock_guard lock(mutex_);
    room_.notify_all();
  }
  services_.flights.release(slot_waiter_);
  const std::lock_guard lock(source_mutex_);
  if (source_) source_->interrupt();
}

std::optional<FrameRecord> Stream::next() {
  std::unique_lock lock(mutex_);
  std::optional<FrameRecord> record;
  while (!record) {
    pulled_.wait(lock, [this] { return report_.ended || (has_completed() && !delivering_); });
    if (report_.ended) return {};
    record = deliver_next(lock);
    after_pull(lock);
  }
  return record;
}

std::optional<FrameRecord> Stream::try_next() {
  std::unique_lock lock(mutex_);
  if (delivering_ || !has_completed()) return {};
  std::optional<FrameRecord> record = deliver_next(lock);
  after_pull(lock);
  return record;
}

void Stream::discard_records() {
  std::unique_lock lock(mutex_);
  if (!rules_.pull) return;
  discarding_ = true;
  if (!delivering_) deliver_completed(lock);
}

void Stream::wait_until_ended() {
  std::unique_lock lock(mutex_);
  over_.wait(lock, [this] { return report_.ended; });
}

void Stream::join() {
  const std::lock_guard lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
}

StreamReport Stream::report() const {
  const std::lock_guard lock(mutex_);
  StreamReport report = report_;
  if (!report.ended) report.elapsed = std::chrono::steady_clock::now() - opened_;
  return report;
}

StreamStats Stream::stats() const {
  const auto now = std::chrono::steady_clock::now();
  std::vector<std::optional<SinkStats>> sinks;  // outside the lock: a host's sink may take long
  for (const std::shared_ptr<Sink>& sink : sinks_) sinks.push_back(sink->stats());
  const std::lock_guard lock(mutex_);
  std::int64_t done = report_.frames;
  for (const auto& [reason, count] : report_.drops) done += count;
  return {.id = id_,
          .source = source_name_,
          .read = frames_read_,
          .recorded = report_.frames,
          .drops = report_.drops,
          .errors = report_.errors,
          .quarantined = report_.quarantined,
          .overdue = overdue_,
          .waiting = pending_.size(),
          .in_flight = static_cast<std::size_t>(frames_read_ - done),
          .frames_per_second = latency_.per_second(now, opened_),
          .latency_ns = latency_.times_ns(),
          .sinks = std::move(sinks),
          .ended = report_.ended,
          .failure = report_.failure};
}

void Stream::read_frames() {
  try {
    while (wait_for_room()) {
      const auto begin = std::chrono::steady_clock::now();
      std::optional<Frame> frame = source_->read();
      if (!frame) break;
      const std::uint64_t trace_frame = trace_ ? trace_->read(begin, frame->index) : 0;
      if (!accept(*std::move(frame), trace_frame)) break;
    }
  } catch (...) {
    // Many sources can be interrupted only by making their read fail.
    bool failed = false;
    {
      const std::lock_guard lock(mutex_);
      failed = !stopping_ && fail(std::current_exception());
    }
    if (failed) tell_failure(std::current_exception());
  }
  std::unique_ptr<Source> done;
  {
    const std::lock_guard lock(source_mutex_);
    done = std::move(source_);
  }
  done.reset();
  std::unique_lock lock(mutex_);
  source_done_ = true;
  slot_reserved_ = false;
  settle_slots();
  end_windows_if_last();
  post_released(lock);
  finish_if_over(lock);
}

bool Stream::wait_for_room() {
  std::unique_lock lock = adaptive_lock(mutex_);
  if (rules_.max_frames && frames_read_ >= *rules_.max_frames) return false;
  if (rules_.overflow != OverflowPolicy::wait) return !stopping_;
  for (;;) {
    room_.wait(lock, [this] { return stopping_ || in_flight() < most_in_flight(); });
    if (stopping_) return false;
    if (takes_slot()) {
      slot_reserved_ = true;
      return true;
    }
    services_.flights.reset(slot_waiter_);
    lock.unlock();
    const bool granted = services_.flights.wait(slot_waiter_);
    lock = adaptive_lock(mutex_);
    if (granted) ++slots_;
  }
}

/// Requires `mutex_`. Whether the pipeline's flight limit allows one more frame; takes a slot if
/// one is needed. The stream's first frame needs no slot, and neither do frames that wait for later
/// frames.
bool Stream::takes_slot() {
  if (slots_ + look_ahead_ >= in_flight()) return true;
  if (!services_.flights.try_take()) return false;
  ++slots_;
  return true;
}

/// Requires `mutex_`. Called after frames have left: gives back their slots.
void Stream::settle_slots() {
  const std::size_t frames = in_flight() + (slot_reserved_ ? 1 : 0);
  const std::size_t free = look_ahead_ + 1;
  const std::size_t kept = frames > free ? frames - free : 0;
  if (slots_ > kept) services_.flights.give_back(slots_ - std::exchange(slots_, kept));
  if (frames < free) services_.flights.release(slot_waiter_);  // the next frame needs no slot
}

void Stream::check(const Frame& frame) const {
  if (!frame.is_null && (frame.image.empty() || frame.image.type() != CV_8UC3))
    throw SourceError(
        ErrorCode::source_read,
        source_name_ + " gave frame " + std::to_string(frame.index) +
            (frame.image.empty() ? " without pixels" : " of another pixel type than CV_8UC3") +
            "; frames are height × width × 3, 8 bit, BGR");
  if (frame.index <= last_index_)
    throw SourceError(ErrorCode::source_read,
                      source_name_ + " gave frame index " + std::to_string(frame.index) +
                          " after " + std::to_string(last_index_) + "; indexes must rise from 0");
}

/// False if no further frame is wanted.
bool Stream::accept(Frame frame, std::uint64_t trace_frame) {
  const auto read_at = std::chrono::steady_clock::now();
  {
    const std::unique_lock lock = adaptive_lock(mutex_);
    slot_reserved_ = false;
    check(frame);
    if (frames_read_ == 0 && frame.discontinuity == Discontinuity::none && !rules_.slice)
      frame.discontinuity = Discontinuity::start;
    if (rules_.slice) enter_run(frame);
    const bool is_kept = frames_read_++ % rules_.keep_every == 0;
    last_index_ = frame.index;
    if (abandoned_) {
      drop(frame, kDropStreamFailed, between_);
      return false;
    }
    if (!is_kept) {
      drop(frame, kDropSkipped, between_);
      return true;
    }
    if (!make_room()) {
      drop(frame, kDropOverload, between_);
      return true;
    }
    pending_.push_back(
        {std::move(frame), route_, read_at, trace_frame, std::exchange(between_, {})});
  }
  services_.pool.post(shared_from_this());
  return true;
}

/// Requires `mutex_`. Makes room for the frame that was read, if OverflowPolicy drops frames. False
/// if that frame is the one to drop. A frame that has begun cannot be dropped; so with
/// `drop_oldest` one frame, the newest, may wait beyond the bound.
bool Stream::make_room() {
  if (rules_.overflow == OverflowPolicy::wait) return true;
  if (rules_.overflow == OverflowPolicy::drop_newest)
    return in_flight() < most_in_flight() && takes_slot();
  while (!pending_.empty() && in_flight() >= most_in_flight()) drop_oldest();
  if (takes_slot()) return true;
  if (pending_.empty()) return false;
  drop_oldest();
  return true;
}

void Stream::drop_oldest() {
  Pending oldest = std::move(pending_.front());
  pending_.pop_front();
  slot_reserved_ = true;  // the new frame gets its slot
  // The next frame's record lists this drop, and what the dropped frame's record would have listed.
  Dropped& next = pending_.empty() ? between_ : pending_.front().before;
  const Dropped later = std::exchange(next, std::move(oldest.before));
  drop(oldest.frame, kDropOverload, next);
  next.add(later);
  slot_reserved_ = false;
}

void Stream::drop(const Frame& frame, const char* reason, Dropped& before_next) {
  ++report_.drops[reason];
  before_next.add(FrameRecord::Drop{.frame_index = frame.index, .reason = reason});
  before_next.discontinuities.add(frame.discontinuity);
  if (trace_) trace_->dropped(frame.index, reason);
  settle_slots();
}

void Stream::Dropped::add(FrameRecord::Drop drop) {
  if (drops.size() >= kMostDropsTold) {
    const auto same =
        std::find_if(drops.rbegin(), drops.rend(),
                     [&drop](const FrameRecord::Drop& one) { return one.reason == drop.reason; });
    if (same != drops.rend()) {
      same->count += drop.count;
      return;
    }
  }
  drops.push_back(std::move(drop));
}

void Stream::Dropped::add(const Dropped& later) {
  for (const FrameRecord::Drop& drop : later.drops) add(drop);
  discontinuities.add(later.discontinuities);
}

/// Requires `mutex_`. True for the first failure; the caller then logs it without the lock.
bool Stream::fail(const std::exception_ptr& cause) {
  if (report_.failure_cause) return false;
  report_.failure = exception_text(cause);
  report_.failure_cause = cause;
  return true;
}

void Stream::tell_failure(const std::exception_ptr& cause) const {
  if (rules_.slice) return;  // SlicedStream logs it, or recovers from it
  log(LogLevel::error, "stream " + id_ + " has failed and ends: " + exception_text(cause));
}

/// Finalizes the stream once the source has ended and nothing is in flight. Requires `mutex_`;
/// temporarily releases it.
void Stream::finish_if_over(std::unique_lock<std::mutex>& lock) {
  if (!source_done_ || !pending_.empty() || begun_ > 0 || delivering_ || finishing_) return;
  finishing_ = true;
  work_.clear();  // requests for helpers that are no longer needed
  history_ = {};
  lock.unlock();
  close_states();
  // Before `ended` is set: after that, the object that on_end() notifies may be gone.
  if (rules_.on_end) rules_.on_end();
  lock.lock();
  report_.elapsed = std::chrono::steady_clock::now() - opened_;
  report_.ended = true;
  over_.notify_all();
  pulled_.notify_all();
}

}  // namespace vcap
