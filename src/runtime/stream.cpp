// SPDX-License-Identifier: Apache-2.0
#include "runtime/stream.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {

Stream::Stream(std::string id, std::unique_ptr<Source> source,
               std::vector<std::shared_ptr<Sink>> sinks, std::shared_ptr<const Program> program,
               StepOptions options, Rules rules, WorkPool& pool)
    : id_(std::move(id)),
      sinks_(std::move(sinks)),
      program_(std::move(program)),
      rules_(rules),
      source_name_(source->info().description),
      pool_(pool),
      source_(std::move(source)),
      options_(std::make_shared<const StepOptions>(std::move(options))),
      gates_(program_->size()),
      quarantines_(rules.quarantine.failures > 0 ? program_->size() : 0,
                   Quarantine(rules.quarantine)),
      opened_(std::chrono::steady_clock::now()) {
  report_.id = id_;
}

Stream::~Stream() { join(); }

void Stream::start() {
  thread_ = std::thread([this] { read_frames(); });
}

void Stream::stop() noexcept {
  stopping_ = true;
  {
    // Between the reader's look at the flag and its wait, the lock cannot be had.
    const std::lock_guard lock(mutex_);
    room_.notify_all();
  }
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

std::int64_t Stream::set_option(std::size_t step, const std::string& option, OptionValue value) {
  const std::lock_guard lock(mutex_);
  auto changed = std::make_shared<StepOptions>(*options_);
  (*changed)[step].set(option, std::move(value));
  options_ = std::move(changed);
  return last_index_ + 1;
}

StreamReport Stream::report() const {
  const std::lock_guard lock(mutex_);
  StreamReport report = report_;
  if (!report.ended) report.elapsed = std::chrono::steady_clock::now() - opened_;
  return report;
}

void Stream::read_frames() {
  try {
    while (wait_for_room()) {
      std::optional<Frame> frame = source_->read();
      if (!frame || !accept(*std::move(frame))) break;
    }
  } catch (...) {
    // Many sources can only be interrupted by making their read fail.
    const std::lock_guard lock(mutex_);
    if (!stopping_) fail(std::current_exception());
  }
  std::unique_ptr<Source> done;
  {
    const std::lock_guard lock(source_mutex_);
    done = std::move(source_);
  }
  done.reset();
  std::unique_lock lock(mutex_);
  source_done_ = true;
  finish_if_over(lock);
}

bool Stream::wait_for_room() {
  std::unique_lock lock(mutex_);
  if (rules_.max_frames && frames_read_ >= *rules_.max_frames) return false;
  room_.wait(lock, [this] {
    return stopping_ || rules_.overflow != OverflowPolicy::wait ||
           pending_.size() + begun_ < rules_.frames_in_flight;
  });
  return !stopping_;
}

void Stream::check(const Frame& frame) const {
  if (frame.image.empty() || frame.image.type() != CV_8UC3)
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

/// False where no further frame is wanted.
bool Stream::accept(Frame frame) {
  {
    const std::lock_guard lock(mutex_);
    check(frame);
    if (frames_read_ == 0 && frame.discontinuity == Discontinuity::none)
      frame.discontinuity = Discontinuity::start;
    const bool is_kept = frames_read_++ % rules_.keep_every == 0;
    last_index_ = frame.index;
    if (abandoned_) {
      drop(frame, kDropStreamFailed);
      return false;
    }
    if (!is_kept) {
      drop(frame, kDropSkipped);
      return true;
    }
    if (rules_.overflow == OverflowPolicy::drop_newest &&
        pending_.size() + begun_ >= rules_.frames_in_flight) {
      drop(frame, kDropOverload);
      return true;
    }
    if (rules_.overflow == OverflowPolicy::drop_oldest) make_room();
    pending_.push_back({std::move(frame), options_});
  }
  pool_.post(shared_from_this());
  return true;
}

/// Frames that are begun cannot be taken back; beyond the bound, one frame waits: the newest.
void Stream::make_room() {
  while (!pending_.empty() && pending_.size() + begun_ >= rules_.frames_in_flight) {
    drop(pending_.front().frame, kDropOverload);
    pending_.pop_front();
  }
}

void Stream::drop(const Frame& frame, const char* reason) {
  ++report_.drops[reason];
  untold_drops_.push_back({frame.index, reason});
  if (frame.discontinuity != Discontinuity::none) owed_ = frame.discontinuity;
}

void Stream::fail(const std::exception_ptr& cause) {
  if (report_.failure_cause) return;
  report_.failure = exception_text(cause);
  report_.failure_cause = cause;
}

/// The last one to leave, be it the source's thread or a worker, closes the door.
void Stream::finish_if_over(std::unique_lock<std::mutex>& lock) {
  if (!source_done_ || !pending_.empty() || begun_ > 0 || delivering_ || finishing_) return;
  finishing_ = true;
  lock.unlock();
  for (const ProgramStep& step : *program_) {
    try {
      if (step.stateful) step.capsule->clean_up(id_);
    } catch (...) {
      log(LogLevel::error, "stream " + id_ + ": dropping its state in capsule " +
                               step.capsule->name() +
                               " failed: " + exception_text(std::current_exception()));
    }
  }
  lock.lock();
  report_.elapsed = std::chrono::steady_clock::now() - opened_;
  report_.ended = true;
  over_.notify_all();
  pulled_.notify_all();
}

}  // namespace vcap
