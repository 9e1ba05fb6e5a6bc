// SPDX-License-Identifier: Apache-2.0
// The way of a frame through the steps of its route. Frame workers run this.
#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "streams/batch_call.hpp"
#include "streams/stream.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

void log_quarantine(const std::string& whom, const std::string& capsule,
                    const QuarantinePolicy& policy, const std::string& message) {
  log(LogLevel::warning, whom + ": capsule " + capsule + " keeps failing and is left out for " +
                             number_text(std::chrono::duration<double>(policy.pause).count()) +
                             " s; the last error: " + message);
}

}  // namespace

void Stream::run_one() {
  std::optional<Work> work;
  std::unique_ptr<FrameJob> job;
  std::size_t posts = 0;
  {
    const MutexLock lock(mutex_, kAdaptive);
    // Frames that have begun go first: they hold memory, and others wait for them.
    if (!work_.empty()) {
      work = std::move(work_.front());
      work_.erase(work_.begin());
    } else {
      job = begin_frame(posts);
    }
  }
  post(posts);
  if (work) job = resume(*std::move(work));
  if (job) advance(std::move(job));
}

/// Null if there is no frame to begin, or if it waits for its window. Adds to
/// `posts`.
std::unique_ptr<FrameJob> Stream::begin_frame(std::size_t& posts) {
  std::optional<ReadFrame> read = intake_.begin();
  if (!read) return nullptr;
  auto job = std::make_unique<FrameJob>();
  job->ticket = next_ticket_++;
  job->record.stream_id = id_;
  job->record.frame = std::move(read->frame);
  job->record.resolution = job->record.frame.image.size();
  if (rules_.slice && rules_.slice->group) job->record.group = rules_.slice->group->number;
  job->route = std::move(read->route);
  job->read_at = read->read_at;
  job->trace_frame = read->trace_frame;
  job->record.drops = std::move(read->before.drops);
  // The discontinuities of dropped frames apply to the next frame.
  job->discontinuities = read->before.discontinuities;
  job->discontinuities.add(job->record.frame.discontinuity);
  job->record.frame.discontinuity = job->discontinuities.foremost();
  if (changes_.has_unlisted()) changes_.list(job->record);
  for (const Route::Stop& stop : job->route->stops) stop.lane->gate.open(job->ticket);
  if (windows_.has_windows()) {
    posts += add_work(windows_.begin(*job, records_.next()));
    if (intake_.is_exhausted()) posts += add_work(windows_.end());
    if (!job->has_passed_all() && !job->hands_in_nodes()) job = windows_.await(std::move(job));
  }
  if (job) enter_if_open(*job);
  return job;
}

/// Lets the frame into the gate of its step if that is all that it waits for and its turn has come.
/// This saves enter_gate().
void Stream::enter_if_open(FrameJob& job) {
  if (!job.has_passed_all() && job.is_at_gate() && !job.lacks_window() && !job.hands_in_nodes())
    job.inside_gate = job.lane().gate.is_turn_of(job.ticket);
}

/// Returns the frame that this worker continues with, or null.
std::unique_ptr<FrameJob> Stream::resume(Work work) {
  if (auto* job = std::get_if<std::unique_ptr<FrameJob>>(&work)) return std::move(*job);
  if (auto* run = std::get_if<std::shared_ptr<StepRun>>(&work)) return join_run(*run);
  const BatchTurn turn = std::get<BatchTurn>(std::move(work));
  FrameBatches::Batch batch;
  {
    const MutexLock lock(mutex_, kAdaptive);
    batch = turn.route->stops[turn.step].lane->batches.begin_call();
  }
  return run_batch(turn, std::move(batch));
}

/// Takes the frame as far as it goes. A step may return another frame to continue with.
void Stream::advance(std::unique_ptr<FrameJob> job) {
  while (job && !job->has_passed_all()) {
    if (job->hands_in_nodes() || job->lacks_window())
      job = await_window(std::move(job));
    else if (job->is_at_gate() && !job->inside_gate)
      job = enter_gate(std::move(job));
    else if (job->may_gather())
      job = gather(std::move(job));
    else
      job = call_capsule(std::move(job));
  }
  if (job) complete(std::move(job));
}

/// Stores the frame's nodes for the windows of other frames. Returns the frame if its own window is
/// complete, or else another frame that can continue, or null.
std::unique_ptr<FrameJob> Stream::await_window(std::unique_ptr<FrameJob> job) {
  std::shared_ptr<const DetectionNodes> nodes;
  if (job->hands_in_nodes()) nodes = StencilWindows::nodes_of(*job);
  std::size_t posts = 0;
  {
    const MutexLock lock(mutex_, kAdaptive);
    ReadyJobs ready;
    if (nodes) ready = windows_.hand_in(*job, std::move(nodes));
    job = windows_.await(std::move(job));
    if (!job && !ready.empty()) {
      job = std::move(ready.front());
      ready.erase(ready.begin());
    }
    posts = add_work(std::move(ready));
  }
  post(posts);
  return job;
}

/// Null if the frame was parked; the frame before it posts it.
std::unique_ptr<FrameJob> Stream::enter_gate(std::unique_ptr<FrameJob> job) {
  const MutexLock lock(mutex_, kAdaptive);
  StatefulGate& gate = job->lane().gate;
  job = gate.enter(std::move(job));
  if (job) job->inside_gate = true;
  return job;
}

/// Adds the frame to those that wait, and runs a batch if one may begin.
std::unique_ptr<FrameJob> Stream::gather(std::unique_ptr<FrameJob> job) {
  job->left_out = is_passed_by(*job);
  if (job->left_out) {
    leave_step(*job);
    return job;
  }
  const BatchTurn turn{job->route, job->step};
  FrameBatches::Batch batch;
  {
    const MutexLock lock(mutex_, kAdaptive);
    FrameBatches& batches = turn.route->stops[turn.step].lane->batches;
    batches.add(std::move(job));
    batch = batches.begin_call();
  }
  return run_batch(turn, std::move(batch));
}

/// Calls the capsule for the frames of a batch, if there are any. If that fails, it is then called
/// for each frame by itself, which shows the frame at fault and its error.
std::unique_ptr<FrameJob> Stream::run_batch(const BatchTurn& turn, FrameBatches::Batch batch) {
  if (batch.empty()) return nullptr;
  if (batch.size() == 1) {
    batch.front()->alone = batch.front()->holds_call = true;
    return std::move(batch.front());
  }
  // Another batch may just have shown that the backend lacks process_frames().
  const bool done = turn.route->compiled_plan->at(turn.step).slot->has_process_frames &&
                    call_together(batch, id_);
  for (const std::unique_ptr<FrameJob>& one : batch) {
    one->alone = !done;
    if (done) leave_step(*one);
  }
  std::unique_ptr<FrameJob> first = std::move(batch.front());
  batch.erase(batch.begin());
  std::size_t posts = 0;
  {
    const MutexLock lock(mutex_, kAdaptive);
    posts = add_work(std::move(batch));
    if (turn.route->stops[turn.step].lane->batches.end_call()) {
      work_.emplace_back(turn);
      ++posts;
    }
  }
  post(posts);
  return first;
}

/// Runs the frame's step, unless the capsule is left out. Null if another worker continues with the
/// frame.
std::unique_ptr<FrameJob> Stream::call_capsule(std::unique_ptr<FrameJob> job) {
  const CompiledStep& step = job->compiled_step();
  CapsuleLane& lane = job->lane();
  Discontinuity seen = job->record.frame.discontinuity;
  StreamHandle state;
  job->left_out = is_passed_by(*job);
  if (step.slot->stateful) {
    // If this capsule is not called for a frame of a slice, the frame comes before the first frame
    // of a state.
    if (job->is_in_step())
      lane.owed.add(job->discontinuities);
    else if (!job->record.frame.is_null)
      lane.owed.clear();
    const CapsuleInfo& info = step.slot->capsule->info();
    seen = lane.owed.owed(info.warmup).foremost_besides(info.keeps_state_at);
    if (!job->record.frame.is_null) lane.owed.pass_frame();
    state = lane.states.serve(job->route->stops[job->step].state_number);
    // For the capsule, a frame that it was left out of is a gap.
    if (job->left_out && job->is_for_capsule()) lane.owed.add(Discontinuity::gap);
  }
  std::optional<StepCalls> calls = job->left_out ? std::nullopt : StepCalls::begin(*job);
  if (!calls) {
    leave_step(*job);
    return job;
  }
  if (step.slot->stateful) lane.owed.clear();
  std::optional<Frame> with_seen;  // only if it differs, since pixels are counted
  if (seen != job->record.frame.discontinuity) {
    with_seen = job->record.frame;
    with_seen->discontinuity = seen;
  }
  StepContext context{.route = job->route.get(),
                      .number = job->step,
                      .stream_id = &id_,
                      .frame = with_seen ? &*with_seen : &job->record.frame,
                      .trace_frame = job->trace_frame,
                      .state = std::move(state),
                      .window = std::exchange(job->window, {})};
  if (context.window && context.window->present)
    context.window->frames[*context.window->present].discontinuity = seen;
  if (calls->is_one_call() && rules_.deadline.count() == 0) {
    calls->run_only_call(context, job->record);
    leave_step(*job);
    return job;
  }
  const std::size_t first_calls = calls->calls();
  const auto run = std::make_shared<StepRun>(std::move(job), *std::move(calls), std::move(context));
  watch(run);
  if (!step.slot->stateful) call_helpers(run, first_calls);
  return join_run(run);
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
         .message = "left out: its call for an earlier frame of this stream has not returned"});
    return true;
  }
  bool held = slot.quarantine.holds();
  if (!held && rules_.quarantine.failures == 0) return false;
  {
    const MutexLock lock(mutex_);
    held = held || job.health().quarantine.holds(job.record.frame.pts);
    if (!held) return false;
    account_.add_quarantined(slot.name());
  }
  job.record.errors.push_back(
      {.capsule = slot.name(), .code = kQuarantined, .message = "left out: it kept failing"});
  return true;
}

/// Gets other workers to share the calls of a run. Borrows both.
class Stream::RunHelpers final : public StepRun::Helpers {
 public:
  RunHelpers(Stream& stream, const std::shared_ptr<StepRun>& run) : stream_(stream), run_(run) {}
  void help(std::size_t calls) override { stream_.call_helpers(run_, calls); }

 private:
  Stream& stream_;
  const std::shared_ptr<StepRun>& run_;
};

/// Makes calls of the run. Returns the frame, one step further, if this worker ends the last call.
/// Otherwise returns null, and the worker that ends the last call continues with the frame.
std::unique_ptr<FrameJob> Stream::join_run(const std::shared_ptr<StepRun>& run) {
  RunHelpers helpers(*this, run);
  StepRun::Outcome outcome = run->run(run->context().step().slot->stateful ? nullptr : &helpers);
  if (outcome.too_late) note_return(*run);
  if (outcome.job) leave_step(*outcome.job);
  return std::move(outcome.job);
}

void Stream::call_helpers(const std::shared_ptr<StepRun>& run, std::size_t calls) {
  if (calls < 2) return;
  const std::size_t helpers = std::min(calls, services_.pool.limit()) - 1;
  {
    const MutexLock lock(mutex_, kAdaptive);
    for (std::size_t i = 0; i < helpers; ++i) work_.emplace_back(run);
  }
  post(helpers);
}

/// Notes the outcome of the step and goes on to the next one. Only then may the next frame enter,
/// so that failures are counted in the same order in every run. complete() leaves the gate of the
/// last step, under the lock that it needs anyway.
void Stream::leave_step(FrameJob& job) {
  const std::size_t step = job.step++;
  CapsuleSlot& slot = *(*job.route->compiled_plan)[step].slot;
  const Route::Stop& stop = job.route->stops[step];
  const bool was_called = !std::exchange(job.left_out, false);
  const bool leaves_gate = job.inside_gate && !job.has_passed_all();
  const bool holds_call = std::exchange(job.holds_call, false);
  job.alone = false;
  job.window.reset();

  const FrameRecord::CapsuleError* error = nullptr;
  if (was_called) {
    const auto found =
        std::ranges::find(job.record.errors, slot.name(), &FrameRecord::CapsuleError::capsule);
    if (found != job.record.errors.end()) error = &*found;
    slot.trial.note(error != nullptr);
    if (slot.quarantine.note(error != nullptr))
      log_quarantine("all streams", slot.name(), slot.quarantine.policy(), error->message);
  }
  const bool notes_own = was_called && rules_.quarantine.failures > 0;
  if (!notes_own && !leaves_gate && !holds_call) return;

  bool begins_pause = false;
  std::size_t posts = 0;
  {
    const MutexLock lock(mutex_, kAdaptive);
    if (notes_own)
      begins_pause = stop.health->quarantine.note(job.record.frame.pts, error != nullptr);
    if (leaves_gate) {
      posts += leave_gate(job, stop);
      enter_if_open(job);
    }
    if (holds_call && stop.lane->batches.end_call()) {
      work_.emplace_back(BatchTurn{job.route, step});
      ++posts;
    }
  }
  post(posts);
  if (begins_pause) log_quarantine("stream " + id_, slot.name(), rules_.quarantine, error->message);
}

/// Lets the next frame in. Returns the number of pieces to post once the lock is released.
std::size_t Stream::leave_gate(FrameJob& job, const Route::Stop& stop) {
  job.inside_gate = false;
  std::unique_ptr<FrameJob> next = stop.lane->gate.leave();
  if (!next) return 0;
  next->inside_gate = true;
  work_.emplace_back(std::move(next));
  return 1;
}

}  // namespace vcap
