// SPDX-License-Identifier: Apache-2.0
// A stream's control, its source thread and its end.
#include "streams/stream.hpp"

#include <utility>

#include "base/text.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {

Stream::Stream(std::string id, std::unique_ptr<Source> source,
               std::vector<std::shared_ptr<Sink>> sinks, StreamRules rules, StreamServices services)
    : PipelineStream(std::move(id), std::move(rules)),
      sinks_(std::move(sinks)),
      services_(std::move(services)),
      trace_(StreamTrace::make(services_.trace, id_)),
      source_(std::move(source)),
      account_(id_),
      intake_({.overflow = rules_.overflow,
               .frames_in_flight = rules_.frames_in_flight,
               .keep_every = rules_.keep_every},
              services_.flights, account_, trace_.get()) {
  account_.own().not_sliced = rules_.not_sliced;
}

Stream::~Stream() { join(); }

void Stream::start() {
  {
    const MutexLock lock(mutex_);
    account_.start(std::chrono::steady_clock::now());
  }
  thread_ = std::thread([this] { read_frames(); });
}

void Stream::stop() noexcept {
  stopping_ = true;
  {
    // The reader holds the lock from its check of the flag until it waits, so it cannot miss this.
    const MutexLock lock(mutex_);
    room_.notify_all();
    services_.flights.release(intake_.slots().waiter());
  }
  Source* source = nullptr;
  {
    const MutexLock lock(source_mutex_);
    if (!source_) return;
    source = source_.get();
    ++source_users_;
  }
  source->interrupt();
  const MutexLock lock(source_mutex_);
  --source_users_;
  source_free_.notify_all();
}

/// Absent once the source has ended. Without a lock: the source may be the host's.
std::optional<SourceState> Stream::source_state() const {
  const Source* source = nullptr;
  {
    const MutexLock lock(source_mutex_);
    if (!source_) return std::nullopt;
    source = source_.get();
    ++source_users_;
  }
  const auto leave = [this] {
    const MutexLock lock(source_mutex_);
    --source_users_;
    source_free_.notify_all();
  };
  try {
    std::optional<SourceState> state = source->state();
    leave();
    return state;
  } catch (...) {
    leave();
    throw;
  }
}

void Stream::discard_records() {
  std::unique_ptr<FrameJob> job;
  {
    const MutexLock lock(mutex_);
    if (!rules_.pull) return;
    discarding_ = true;
    job = begin_delivery();
  }
  if (job) deliver_all(std::move(job));
}

void Stream::wait_until_ended() {
  MutexLock lock(mutex_);
  over_.wait(mutex_, [this]() VCAP_REQUIRES(mutex_) { return account_.has_ended(); });
}

void Stream::join() {
  const MutexLock lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
}

StreamReport Stream::report() const {
  const MutexLock lock(mutex_);
  return account_.report(std::chrono::steady_clock::now());
}

StreamStats Stream::stats() const {
  StreamStats stats;
  stats.id = id_;
  stats.source = rules_.source_name;
  // Without the lock: a host's sink may take long.
  for (const std::shared_ptr<Sink>& sink : sinks_) stats.sinks.push_back(sink->stats());
  stats.source_state = source_state();
  const MutexLock lock(mutex_);
  account_.describe(stats, std::chrono::steady_clock::now());
  stats.read = intake_.frames_read();
  stats.waiting = intake_.waiting();
  std::int64_t done = stats.recorded;
  for (const auto& [reason, count] : stats.drops) done += count;
  stats.in_flight = static_cast<std::size_t>(stats.read - done);
  return stats;
}

void Stream::read_frames() {
  StreamFailure failure;
  std::size_t posts = 0;
  try {
    for (bool reads = wait_for_room(); reads;) {
      const auto begin = trace_ ? std::chrono::steady_clock::now() : StreamAccount::time_point();
      std::optional<Frame> frame = source_->read();
      if (source_->broken_pictures().count != broken_pictures_) note_broken_pictures();
      if (!frame) break;
      const std::uint64_t trace_frame = trace_ ? trace_->read(begin, frame->index) : 0;
      const std::optional<bool> next = accept(*std::move(frame), trace_frame);
      reads = next ? *next : wait_for_room();
    }
  } catch (...) {
    failure = StreamFailure(std::current_exception());
  }
  bool is_first_failure = false;
  if (failure) {
    const MutexLock lock(mutex_);
    posts = intake_.waiting();  // post() may have failed for them
    // Many sources can be interrupted only by making their read fail.
    is_first_failure = !stopping_ && account_.fail(failure);
  }
  if (is_first_failure) log_failure(failure);
  std::unique_ptr<Source> done;
  {
    MutexLock lock(source_mutex_);
    source_free_.wait(source_mutex_,
                      [this]() VCAP_REQUIRES(source_mutex_) { return source_users_ == 0; });
    done = std::move(source_);
  }
  done.reset();
  bool over = false;
  {
    const MutexLock lock(mutex_);
    intake_.close();
    if (intake_.is_exhausted()) posts += add_work(windows_.end());
    over = begins_finishing();
  }
  post(posts);
  if (over) finish();
}

void Stream::note_broken_pictures() {
  BrokenPictures broken = source_->broken_pictures();
  broken_pictures_ = broken.count;
  const MutexLock lock(mutex_);
  account_.own().broken_pictures = std::move(broken);
}

/// Whether the source is to read a frame; `nullopt` if it must wait for room first.
std::optional<bool> Stream::may_read() {
  if (stopping_) return false;
  if (rules_.max_frames && intake_.frames_read() >= *rules_.max_frames) return false;
  if (rules_.overflow != OverflowPolicy::wait) return true;
  if (intake_.has_room() && intake_.reserve()) return true;
  return std::nullopt;
}

/// Waits until the source may read a frame. False if it is to end.
bool Stream::wait_for_room() {
  MutexLock lock(mutex_, kAdaptive);
  std::optional<bool> may;
  while (!(may = may_read())) {
    if (!intake_.has_room()) {
      room_.wait(mutex_,
                 [this]() VCAP_REQUIRES(mutex_) { return stopping_ || intake_.has_room(); });
      continue;
    }
    // The stream has room, but the pipeline has none.
    InFlightLimiter::Waiter& waiter = intake_.slots().waiter();
    services_.flights.reset(waiter);
    lock.unlock();
    const bool granted = services_.flights.wait(waiter);
    lock.lock(kAdaptive);
    if (granted) intake_.slots().add();
  }
  return *may;
}

void Stream::check(const Frame& frame) const {
  if (!frame.is_null && (frame.image.empty() || frame.image.type() != CV_8UC3))
    throw SourceError(
        ErrorCode::source_read,
        rules_.source_name + " returned frame " + std::to_string(frame.index) +
            (frame.image.empty() ? " without pixels" : " with a pixel type other than CV_8UC3") +
            "; frames are height × width × 3, 8 bit, BGR");
  if (frame.index <= last_index_)
    throw SourceError(ErrorCode::source_read, rules_.source_name + " returned frame index " +
                                                  std::to_string(frame.index) + " after " +
                                                  std::to_string(last_index_) +
                                                  "; indexes must be >= 0 and increase");
}

/// Whether the source is to read a further frame; `nullopt` if it must wait for room first.
std::optional<bool> Stream::accept(Frame frame, std::uint64_t trace_frame) {
  const auto read_at = std::chrono::steady_clock::now();
  std::shared_ptr<const Route> route = route_of_run(frame);  // later the old one
  std::shared_ptr<const RecordedFrame> recorded;
  if (rules_.recorded) recorded = rules_.recorded->at(frame.index);
  if (recorded) repeat_configs(*recorded, frame.index);
  Intake::Outcome outcome{};
  std::optional<bool> next = false;
  {
    const MutexLock lock(mutex_, kAdaptive);
    check(frame);
    if (intake_.frames_read() == 0 && frame.discontinuity == Discontinuity::none && !rules_.slice)
      frame.discontinuity = Discontinuity::start;
    if (recorded) {
      route = repeat_changes(*recorded, frame.index);
      intake_.repeat(*recorded);
    }
    if (route) set_route(route);
    last_index_ = frame.index;
    outcome = intake_.accept({.frame = std::move(frame),
                              .route = changes_.route(),
                              .read_at = read_at,
                              .trace_frame = trace_frame,
                              .before = {},
                              .recorded = std::move(recorded)},
                             dropped_);
    if (outcome != Intake::Outcome::refused) next = may_read();
  }
  dropped_.clear();
  if (outcome == Intake::Outcome::kept) post(1);
  return next;
}

void Stream::log_failure(const StreamFailure& failure) const {
  if (rules_.slice) return;  // SlicedStream logs it, or recovers from it
  log(LogLevel::error, "stream " + id_ + " has failed and ends: " + failure.text);
}

/// True once nothing is in flight and the source has ended: the caller must then
/// call finish() without the lock.
bool Stream::begins_finishing() {
  if (!intake_.is_exhausted() || intake_.begun() > 0 || finishing_) return false;
  return finishing_ = true;
}

void Stream::finish() {
  release_leftovers();
  close_states();
  // Before the end is noted: after that, the object that on_end() notifies may be gone.
  if (rules_.on_end) rules_.on_end();
  const MutexLock lock(mutex_);
  account_.end(std::chrono::steady_clock::now());
  over_.notify_all();
  pulled_.notify_all();
}

/// Frames kept for windows, and requests for helpers, which have nothing left to help with. They
/// are destroyed without the lock: they may be the last to hold a capsule that was replaced.
void Stream::release_leftovers() {
  FrameHistory frames;
  std::vector<Work> requests;
  const MutexLock lock(mutex_);
  frames = windows_.forget();
  requests.swap(work_);
}

void Stream::close_states() noexcept {
  std::vector<std::shared_ptr<CapsuleLane>> lanes;
  {
    const MutexLock lock(mutex_);
    lanes = changes_.lanes();
  }
  for (const std::shared_ptr<CapsuleLane>& lane : lanes) lane->states.close();
}

/// Returns the number of pieces to post once the lock is released.
std::size_t Stream::add_work(ReadyJobs ready) {
  for (std::unique_ptr<FrameJob>& job : ready) work_.emplace_back(std::move(job));
  return ready.size();
}

void Stream::post(std::size_t pieces) {
  for (std::size_t i = 0; i < pieces; ++i) services_.pool.post(shared_from_this());
}

}  // namespace vcap
