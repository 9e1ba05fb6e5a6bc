// SPDX-License-Identifier: Apache-2.0
// How frame workers process a stream's frames.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/adaptive_lock.hpp"
#include "base/text.hpp"
#include "streams/stream.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

/// Somewhat more than the cost of waking a worker. It is not worth waking one for a shorter time.
constexpr std::chrono::microseconds kQuick{100};

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void Stream::run_one() {
  std::unique_ptr<FrameJob> job;
  std::shared_ptr<StepRun> run;
  {
    std::unique_lock lock = adaptive_lock(mutex_);
    // Frames that have begun go first: they hold memory, and others wait for them.
    if (!work_.empty()) {
      Work work = std::move(work_.front());
      work_.pop_front();
      if (auto* resumed = std::get_if<std::unique_ptr<FrameJob>>(&work))
        job = std::move(*resumed);
      else
        run = std::get<std::shared_ptr<StepRun>>(std::move(work));
    } else {
      job = begin_pending();
      if (job && !job->has_passed_all() && !job->hands_in_nodes())
        job = with_window(std::move(job));
      post_released(lock);
    }
  }
  if (run) job = help(run);
  if (job) advance(std::move(job));
}

/// Requires `mutex_`.
std::unique_ptr<FrameJob> Stream::begin_pending() {
  if (pending_.empty() || begun_ >= most_in_flight()) return nullptr;
  auto job = std::make_unique<FrameJob>();
  job->ticket = next_ticket_++;
  job->record.stream_id = id_;
  job->record.frame = std::move(pending_.front().frame);
  job->record.resolution = job->record.frame.image.size();
  if (rules_.slice && rules_.slice->group) job->record.group = rules_.slice->group->number;
  job->route = std::move(pending_.front().route);
  job->read_at = pending_.front().read_at;
  job->trace_frame = pending_.front().trace_frame;
  job->record.drops = std::move(pending_.front().before.drops);
  // The discontinuities of dropped frames apply to the next frame.
  job->discontinuities = pending_.front().before.discontinuities;
  job->discontinuities.add(job->record.frame.discontinuity);
  job->record.frame.discontinuity = job->discontinuities.foremost();
  pending_.pop_front();
  ++begun_;
  tell_changes(job->record);
  for (const Route::Stop& stop : job->route->stops)
    if (!stop.lane->gate.next) stop.lane->gate.next = job->ticket;
  if (look_back_) begin_windows(*job);
  return job;
}

/// Requires `mutex_`.
void Stream::tell_changes(FrameRecord& record) {
  while (!untold_changes_.empty() && untold_changes_.front().first <= record.frame.index) {
    Change change = std::move(untold_changes_.front().second);
    untold_changes_.erase(untold_changes_.begin());
    if (!change.option.empty())
      record.option_changes.push_back(
          {std::move(change.capsule), std::move(change.option), std::move(change.value)});
    else
      record.replacements.push_back(
          {std::move(change.capsule), change.from_version, change.to_version});
  }
}

void Stream::advance(std::unique_ptr<FrameJob> job) {
  while (job && !job->has_passed_all()) job = run_step(std::move(job));
  if (job) complete(std::move(job));
}

/// Runs the job's next step. Returns a job that this worker continues with, which may be another
/// one, or null.
std::unique_ptr<FrameJob> Stream::run_step(std::unique_ptr<FrameJob> job) {
  if (job->hands_in_nodes() || job->lacks_window()) return await_window(std::move(job));
  if (job->is_at_gate() && !enter(job->lane(), job)) return nullptr;
  if (gathers(*job)) return gather(std::move(job));
  pass_turn(*job);
  const std::shared_ptr<StepRun> run = begin_step(job);
  if (!run) {
    leave_step(*job);
    return job;
  }
  return help(run);
}

/// Null if the capsule is not called; `job` then keeps the frame.
std::shared_ptr<StepRun> Stream::begin_step(std::unique_ptr<FrameJob>& job) {
  const CompiledStep& step = job->compiled_step();
  CapsuleLane& lane = job->lane();
  Discontinuity seen = job->record.frame.discontinuity;
  StreamHandle state;
  job->left_out = is_passed_by(*job);
  if (step.slot->stateful) {
    // A frame of a slice that this capsule is not called for lies before its state begins, or
    // begins anew.
    if (job->is_in_step())
      lane.gate.owed.add(job->discontinuities);
    else if (!job->record.frame.is_null)
      lane.gate.owed.clear();
    const CapsuleInfo& info = step.slot->capsule->info();
    seen = lane.gate.owed.owed(info.warmup).foremost_besides(info.keeps_state_at);
    if (!job->record.frame.is_null) lane.gate.owed.pass_frame();
    state = lane.states.serve(job->route->stops[job->step].state_number);
    // For the capsule, a frame that it was left out of is a gap.
    if (job->left_out && job->is_for_capsule()) lane.gate.owed.add(Discontinuity::gap);
  }
  if (job->left_out) return nullptr;
  std::shared_ptr<StepRun> run =
      StepRun::begin(job, seen, std::move(state), std::exchange(job->window, {}));
  if (!run) return nullptr;
  if (step.slot->stateful) lane.gate.owed.clear();
  watch(run);
  if (!step.slot->stateful) call_helpers(run);
  return run;
}

/// Whether the step is skipped for this frame.
bool Stream::is_passed_by(FrameJob& job) {
  // If abandoned, no record will be written.
  return !job.is_for_capsule() || abandoned_ || is_left_out(job);
}

/// Whether the capsule is left out of this frame; if so, notes that in the record.
bool Stream::is_left_out(FrameJob& job) {
  const CapsuleSlot& slot = *job.compiled_step().slot;
  if (job.health().hung > 0) {
    job.record.errors.push_back(
        {.capsule = slot.name(),
         .code = std::string(to_string(ErrorCode::deadline_exceeded)),
         .message = "left out: it has not come back from an earlier frame of this stream"});
    return true;
  }
  bool held = slot.quarantine.holds();
  if (!held && rules_.quarantine.failures == 0) return false;
  {
    const std::lock_guard lock(mutex_);
    held = held || job.health().quarantine.holds(job.record.frame.pts);
    if (!held) return false;
    ++report_.quarantined[slot.name()];
  }
  job.record.errors.push_back(
      {.capsule = slot.name(), .code = kQuarantined, .message = "left out: it kept failing"});
  return true;
}

/// Notes the outcome of the step and goes on to the next step. Only then may the next frame enter,
/// so that failures are counted in the same order in every run.
void Stream::leave_step(FrameJob& job) {
  const std::shared_ptr<const Route> route = job.route;
  const std::size_t step = job.step++;
  job.alone = false;
  job.window.reset();
  CapsuleSlot& slot = *(*route->compiled_plan)[step].slot;
  const Route::Stop& stop = route->stops[step];
  if (!std::exchange(job.left_out, false)) note_outcome(slot, *stop.health, job.record);
  if (slot.stateful) leave(*stop.lane, job.has_passed_all());
  if (std::exchange(job.holds_call, false)) {
    std::unique_lock lock(mutex_);
    end_call(stop.lane->gathering, lock);
  }
}

void Stream::note_outcome(CapsuleSlot& slot, CapsuleHealth& health, const FrameRecord& record) {
  const auto error =
      std::ranges::find(record.errors, slot.name(), &FrameRecord::CapsuleError::capsule);
  const bool failed = error != record.errors.end();
  slot.trial.note(failed);
  const auto tell = [&](const std::string& whom, const QuarantinePolicy& policy) {
    log(LogLevel::warning, whom + ": capsule " + slot.name() + " keeps failing and is left out " +
                               "for " + number_text(seconds(policy.pause)) +
                               " s; the last time: " + error->message);
  };
  if (slot.quarantine.note(failed)) tell("all streams", slot.quarantine.policy());
  if (rules_.quarantine.failures == 0) return;
  {
    const std::unique_lock lock = adaptive_lock(mutex_);
    if (!health.quarantine.note(record.frame.pts, failed)) return;
  }
  tell("stream " + id_, rules_.quarantine);
}

/// False if the frame was parked; the frame before it posts it.
bool Stream::enter(CapsuleLane& lane, std::unique_ptr<FrameJob>& job) {
  const std::unique_lock lock = adaptive_lock(mutex_);
  if (lane.gate.next == job->ticket) return true;
  const std::uint64_t ticket = job->ticket;
  lane.gate.parked.emplace(ticket, std::move(job));
  return false;
}

/// `is_last`: this worker has only to deliver its frame before it returns to the pool.
void Stream::leave(CapsuleLane& lane, bool is_last) {
  bool takes_next = false;
  {
    const std::unique_lock lock = adaptive_lock(mutex_);
    CapsuleLane::Gate& gate = lane.gate;
    ++*gate.next;
    if (gate.parked.empty() || gate.parked.begin()->first != gate.next) return;
    work_.emplace_back(std::move(gate.parked.extract(gate.parked.begin()).mapped()));
    takes_next = is_last && (rules_.pull || slowest_delivery_ < kQuick);
  }
  if (takes_next)
    services_.pool.post_before_return(shared_from_this());
  else
    services_.pool.post(shared_from_this());
}

/// Makes calls of the run. If this worker ends the last call, returns the job, one step further.
/// Otherwise returns null, and the worker that ends the last call continues with the job.
std::unique_ptr<FrameJob> Stream::help(const std::shared_ptr<StepRun>& run) {
  for (;;) {
    switch (run->help()) {
      case StepRun::Help::nothing:
        return nullptr;
      case StepRun::Help::too_late:
        note_return(*run);
        return nullptr;
      case StepRun::Help::finished:
        if (run->next_round()) {
          if (!(*run->route()->compiled_plan)[run->step()].slot->stateful) call_helpers(run);
          continue;
        }
        std::unique_ptr<FrameJob> job = run->take_job();
        if (job) leave_step(*job);
        return job;
    }
  }
}

void Stream::call_helpers(const std::shared_ptr<StepRun>& run) {
  if (run->calls() < 2) return;
  const std::size_t helpers = std::min(run->calls(), services_.pool.limit()) - 1;
  {
    const std::unique_lock lock = adaptive_lock(mutex_);
    for (std::size_t i = 0; i < helpers; ++i) work_.emplace_back(run);
  }
  for (std::size_t i = 0; i < helpers; ++i) services_.pool.post(shared_from_this());
}

/// Called before the run makes any call.
void Stream::watch(const std::shared_ptr<StepRun>& run) {
  if (rules_.deadline.count() == 0) return;
  run->set_watch(services_.watchdog.watch(rules_.deadline,
                                          [stream = weak_from_this(), run = std::weak_ptr(run)] {
                                            const auto live_stream = stream.lock();
                                            const auto live_run = run.lock();
                                            if (live_stream && live_run)
                                              live_stream->give_up(live_run);
                                          }));
}

/// [watchdog's thread]
void Stream::give_up(const std::shared_ptr<StepRun>& run) {
  StepRun::GivenUp left = run->give_up(rules_.deadline);
  if (!left.job) return;
  log(LogLevel::error, work_of(*run, left.calls));
  left.job->health().hung += left.calls.size();
  for (const StepRun::Call& call : left.calls) services_.pool.replace(call.worker);
  if (left.job->is_at_gate()) left.job->lane().gate.owed.add(Discontinuity::gap);
  leave_step(*left.job);
  {
    const std::lock_guard lock(mutex_);
    ++overdue_;
    work_.emplace_back(std::move(left.job));
  }
  services_.pool.post(shared_from_this());
}

/// Text for the log about calls that do not return: the stream, frame, step, threads, backends and
/// batches.
std::string Stream::work_of(const StepRun& run, const std::vector<StepRun::Call>& calls) const {
  const CapsuleSlot& slot = *(*run.route()->compiled_plan)[run.step()].slot;
  std::string text =
      "stream " + id_ + ": frame " + std::to_string(run.frame().index) + ": capsule " +
      slot.name() + " version " + std::to_string(slot.capsule->info().version) + " (step " +
      std::to_string(run.step() + 1) + " of " + std::to_string(run.route()->compiled_plan->size()) +
      ") has taken longer than " + number_text(seconds(rules_.deadline)) +
      " s; the frame goes on without it";
  const auto now = std::chrono::steady_clock::now();
  for (const StepRun::Call& call : calls)
    text += "; call " + std::to_string(call.number + 1) + " of " + std::to_string(run.calls()) +
            " for " + number_text(std::round(seconds(now - call.since) * 1000) / 1000) +
            " s in thread " + std::to_string(call.thread);
  for (const BackendStatistics& backend : slot.capsule->backends()) {
    text += "; backend on " + backend.device + ": " + std::to_string(backend.running) +
            " calls in progress";
    if (backend.batches)
      text += ", batch of " + std::to_string(backend.batches->running) + " in predict, " +
              std::to_string(backend.batches->queued) + " inputs queued";
  }
  return text;
}

/// Called when a call that was given up has returned. The stream, and even the pipeline, may have
/// ended.
void Stream::note_return(const StepRun& run) {
  --run.route()->stops[run.step()].health->hung;
  log(LogLevel::info, "stream " + run.stream_id() + ": frame " + std::to_string(run.frame().index) +
                          ": capsule " + (*run.route()->compiled_plan)[run.step()].slot->name() +
                          " has come back from a call that was given up");
}

void Stream::complete(std::unique_ptr<FrameJob> job) {
  std::unique_lock lock = adaptive_lock(mutex_);
  const std::uint64_t ticket = job->ticket;
  completed_.emplace(ticket, std::move(job));
  // The thread that delivers checks for completed records again afterwards, and finds this one.
  if (delivering_) return;
  if (rules_.pull && !discarding_) {
    pulled_.notify_one();
    return;
  }
  deliver_completed(lock);
}

/// Requires `mutex_`. Whether the next record in order is complete.
bool Stream::has_completed() const {
  return !completed_.empty() && completed_.begin()->first == next_delivery_;
}

/// Requires `mutex_`; temporarily releases it. Delivers all records that are complete and next in
/// order.
void Stream::deliver_completed(std::unique_lock<std::mutex>& lock) {
  while (has_completed()) deliver_next(lock);
  finish_if_over(lock);
}

/// Delivers the next record in order, which must be complete; no other thread may be delivering.
/// Returns the record if it is pulled; `nullopt` if it was dropped. Requires `mutex_`; releases it
/// during delivery.
std::optional<FrameRecord> Stream::deliver_next(std::unique_lock<std::mutex>& lock) {
  std::unique_ptr<FrameJob> job = std::move(completed_.extract(completed_.begin()).mapped());
  ++next_delivery_;
  std::optional<FrameRecord> record;
  if (discarding_) {
    drop(job->record.frame, kDropClosed, between_);
  } else {
    delivering_ = true;
    lock.unlock();
    if (deliver(*job) && rules_.pull) record = std::move(job->record);
    job.reset();  // frees the pixels before the frame's room is given away
    lock = adaptive_lock(mutex_);
    delivering_ = false;
  }
  --begun_;
  settle_slots();
  if (in_flight() + rules_.resume_threshold <= most_in_flight()) room_.notify_one();
  // With `drop_oldest`, a frame may wait for this room: when it was posted, there was none.
  if (rules_.overflow == OverflowPolicy::drop_oldest && !pending_.empty())
    services_.pool.post(shared_from_this());
  return record;
}

/// Requires `mutex_`; temporarily releases it. Called after deliver_next() by a thread that pulls:
/// wakes what waits for the change.
void Stream::after_pull(std::unique_lock<std::mutex>& lock) {
  if (discarding_) return deliver_completed(lock);
  if (has_completed()) pulled_.notify_one();
  finish_if_over(lock);
}

bool Stream::is_warm_up(const Frame& frame) const {
  return rules_.slice && !rules_.slice->results.contains(frame.index);
}

void Stream::write(FrameJob& job) {
  if (is_warm_up(job.record.frame)) return;
  for (const std::shared_ptr<Sink>& sink : sinks_) sink->write(job.record);
  if (rules_.hand_over) rules_.hand_over(std::move(job.record), job.read_at);
}

/// False if the record was dropped.
bool Stream::deliver(FrameJob& job) {
  const auto begin = std::chrono::steady_clock::now();
  const bool has_errors = !job.record.errors.empty();
  const std::int64_t index = job.record.frame.index;
  try {
    if (!abandoned_) write(job);
  } catch (...) {
    abandoned_ = true;
    bool failed = false;
    {
      std::unique_lock lock(mutex_);
      failed = fail(std::current_exception());
      for (const Pending& waiting : std::exchange(pending_, {}))
        drop(waiting.frame, kDropStreamFailed, between_);
      end_windows_if_last();
      post_released(lock);
    }
    if (failed) tell_failure(std::current_exception());
    stop();
  }
  const auto now = std::chrono::steady_clock::now();
  {
    const std::unique_lock lock = adaptive_lock(mutex_);
    if (abandoned_) {
      drop(job.record.frame, kDropStreamFailed, between_);
      return false;
    }
    ++report_.frames;
    slowest_delivery_ = std::max(now - begin, slowest_delivery_ - slowest_delivery_ / 4);
    latency_.add(job.read_at, now, false);
    if (has_errors) ++report_.errors;
  }
  if (trace_) trace_->recorded(begin, index, job.trace_frame);
  return true;
}

}  // namespace vcap
