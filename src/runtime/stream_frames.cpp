// SPDX-License-Identifier: Apache-2.0
// What frame workers do with a stream's frames.
#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "runtime/stream.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

/// In place of an error's code, where a capsule was not called.
constexpr std::string_view kQuarantined = "quarantined";

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void Stream::run_one() {
  std::unique_ptr<FrameJob> job;
  std::shared_ptr<FanOut> round;
  {
    const std::lock_guard lock(mutex_);
    // Frames that are on their way go first: they hold memory, and others wait for them.
    if (!work_.empty()) {
      Work work = std::move(work_.front());
      work_.pop_front();
      if (auto* resumed = std::get_if<std::unique_ptr<FrameJob>>(&work))
        job = std::move(*resumed);
      else
        round = std::get<std::shared_ptr<FanOut>>(std::move(work));
    } else {
      job = begin_pending();
    }
  }
  if (round && round->help()) job = go_on(std::move(round));
  if (job) advance(std::move(job));
}

/// Under the lock.
std::unique_ptr<FrameJob> Stream::begin_pending() {
  if (pending_.empty() || begun_ >= rules_.frames_in_flight) return nullptr;
  auto job = std::make_unique<FrameJob>();
  job->ticket = next_ticket_++;
  job->record.stream_id = id_;
  job->record.frame = std::move(pending_.front().frame);
  job->options = std::move(pending_.front().options);
  pending_.pop_front();
  ++begun_;
  job->record.drops = std::exchange(untold_drops_, {});
  // What a dropped frame had to say of the stream holds for the one that comes in its place.
  const Discontinuity owed = std::exchange(owed_, Discontinuity::none);
  if (job->record.frame.discontinuity == Discontinuity::none)
    job->record.frame.discontinuity = owed;
  return job;
}

void Stream::advance(std::unique_ptr<FrameJob> job) {
  while (job->step < program_->size()) {
    const ProgramStep& step = (*program_)[job->step];
    if (step.stateful) {
      Gate& gate = gates_[job->step];
      if (!enter(gate, job)) return;
      run_inside(gate, step, *job);
      // While no other frame is inside: who fails when is then the same in every run.
      leave_step(*job);
      leave(gate);
    } else if (abandoned_) {
      ++job->step;  // nobody will see the result
    } else if (is_left_out(*job)) {
      leave_step(*job);
    } else if (step.needs.size == NodeDescription::Size::single) {
      job = fan_out(step, std::move(job));
      if (!job) return;
    } else {
      run_whole_step(step, *job, job->record.frame);
      leave_step(*job);
    }
  }
  complete(std::move(job));
}

/// Notes in the record that the frame's step is not to be run, where that is so.
bool Stream::is_left_out(FrameJob& job) {
  if (quarantines_.empty()) return false;
  {
    const std::lock_guard lock(mutex_);
    if (!quarantines_[job.step].holds(job.record.frame.pts)) return false;
    ++report_.quarantined[(*program_)[job.step].capsule->name()];
  }
  job.record.errors.push_back({.capsule = (*program_)[job.step].capsule->name(),
                               .code = std::string(kQuarantined),
                               .message = "left out: it kept failing on this stream's frames"});
  return true;
}

/// On to the next step, with a note of how this one went.
void Stream::leave_step(FrameJob& job) {
  const std::size_t step = job.step++;
  if (quarantines_.empty()) return;
  const std::string& name = (*program_)[step].capsule->name();
  const auto error =
      std::ranges::find(job.record.errors, name, &FrameRecord::CapsuleError::capsule);
  const bool failed = error != job.record.errors.end();
  if (failed && error->code == kQuarantined) return;
  {
    const std::lock_guard lock(mutex_);
    if (!quarantines_[step].note(job.record.frame.pts, failed)) return;
  }
  log(LogLevel::warning, "stream " + id_ + ": capsule " + name + " keeps failing and is left out " +
                             "for " + number_text(seconds(rules_.quarantine.pause)) +
                             " s; the last time: " + error->message);
}

/// False where the frame was parked: whoever is before it will post it.
bool Stream::enter(Gate& gate, std::unique_ptr<FrameJob>& job) {
  const std::lock_guard lock(mutex_);
  if (gate.next == job->ticket) return true;
  const std::uint64_t ticket = job->ticket;
  gate.parked.emplace(ticket, std::move(job));
  return false;
}

void Stream::leave(Gate& gate) {
  {
    const std::lock_guard lock(mutex_);
    ++gate.next;
    if (gate.parked.empty() || gate.parked.begin()->first != gate.next) return;
    work_.emplace_back(std::move(gate.parked.extract(gate.parked.begin()).mapped()));
  }
  pool_.post(shared_from_this());
}

void Stream::run_inside(Gate& gate, const ProgramStep& step, FrameJob& job) {
  Frame frame = job.record.frame;
  if (frame.discontinuity == Discontinuity::none) frame.discontinuity = gate.owed;
  gate.owed = frame.discontinuity;
  if (abandoned_) return;
  if (is_left_out(job)) {
    // What the capsule knows of the stream ends here, as at frames that are missing.
    if (gate.owed == Discontinuity::none) gate.owed = Discontinuity::gap;
    return;
  }
  const bool called = step.needs.size == NodeDescription::Size::single
                          ? run_single_step_in_turn(step, job, frame)
                          : run_whole_step(step, job, frame);
  if (called) gate.owed = Discontinuity::none;
}

/// Gives the job back, a step further, where it can go on at once; otherwise another worker
/// finishes the last call and goes on with it.
std::unique_ptr<FrameJob> Stream::fan_out(const ProgramStep& step, std::unique_ptr<FrameJob> job) {
  std::shared_ptr<FanOut> round = FanOut::begin(step, job);
  if (!round) {
    leave_step(*job);
    return job;
  }
  call_helpers(round);
  return round->help() ? go_on(std::move(round)) : nullptr;
}

/// For the worker who finished a round's last call.
std::unique_ptr<FrameJob> Stream::go_on(std::shared_ptr<FanOut> round) {
  while (std::shared_ptr<FanOut> next = round->next_round()) {
    round = std::move(next);
    call_helpers(round);
    if (!round->help()) return nullptr;
  }
  std::unique_ptr<FrameJob> job = round->take_job();
  leave_step(*job);
  return job;
}

void Stream::call_helpers(const std::shared_ptr<FanOut>& round) {
  const std::size_t helpers = std::min(round->calls(), pool_.limit()) - 1;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < helpers; ++i) work_.emplace_back(round);
  }
  for (std::size_t i = 0; i < helpers; ++i) pool_.post(shared_from_this());
}

void Stream::complete(std::unique_ptr<FrameJob> job) {
  std::unique_lock lock(mutex_);
  const std::uint64_t ticket = job->ticket;
  completed_.emplace(ticket, std::move(job));
  // Who delivers goes on until the head is missing, and so will find this one too.
  if (delivering_) return;
  if (rules_.pull && !discarding_) {
    pulled_.notify_one();
    return;
  }
  deliver_completed(lock);
}

/// Under the lock: whether the record that is next in order is there.
bool Stream::has_completed() const {
  return !completed_.empty() && completed_.begin()->first == next_delivery_;
}

/// Under the lock: all that is there.
void Stream::deliver_completed(std::unique_lock<std::mutex>& lock) {
  while (has_completed()) deliver_next(lock);
  finish_if_over(lock);
}

/// The record that is next in order, which is there, while nobody else delivers; nothing where it
/// was dropped. Under the lock, but for the delivery itself.
std::optional<FrameRecord> Stream::deliver_next(std::unique_lock<std::mutex>& lock) {
  std::unique_ptr<FrameJob> job = std::move(completed_.extract(completed_.begin()).mapped());
  ++next_delivery_;
  std::optional<FrameRecord> record;
  if (discarding_) {
    drop(job->record.frame, kDropClosed);
  } else {
    delivering_ = true;
    lock.unlock();
    if (deliver(*job) && rules_.pull) record = std::move(job->record);
    job.reset();  // the pixels, before their room is given away
    lock.lock();
    delivering_ = false;
  }
  --begun_;
  room_.notify_one();
  // Where the oldest are dropped, a frame may be waiting for just this room, its turn spent in
  // vain.
  if (rules_.overflow == OverflowPolicy::drop_oldest && !pending_.empty())
    pool_.post(shared_from_this());
  return record;
}

/// Under the lock, after deliver_next() for one who pulls: what others wait for.
void Stream::after_pull(std::unique_lock<std::mutex>& lock) {
  if (discarding_) return deliver_completed(lock);
  if (has_completed()) pulled_.notify_one();
  finish_if_over(lock);
}

/// False where the record was dropped.
bool Stream::deliver(FrameJob& job) {
  try {
    if (!abandoned_)
      for (const std::shared_ptr<Sink>& sink : sinks_) sink->write(job.record);
  } catch (...) {
    abandoned_ = true;
    {
      const std::lock_guard lock(mutex_);
      fail(std::current_exception());
      for (const Pending& waiting : pending_) drop(waiting.frame, kDropStreamFailed);
      pending_.clear();
    }
    stop();
  }
  const std::lock_guard lock(mutex_);
  if (abandoned_) {
    drop(job.record.frame, kDropStreamFailed);
    return false;
  }
  ++report_.frames;
  if (!job.record.errors.empty()) ++report_.errors;
  return true;
}

}  // namespace vcap
