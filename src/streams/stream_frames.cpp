// SPDX-License-Identifier: Apache-2.0
// The way of a frame through the steps of its route. Frame workers run this.
#include <algorithm>
#include <span>
#include <utility>

#include "base/text.hpp"
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

/// What the capsules that stand in gave for the frame, as they left it.
void begin_with(const RecordedFrame& recorded, FrameJob& job) {
  job.record.objects = recorded.objects;
  job.record.errors = recorded.errors;
  job.record.warnings = recorded.warnings;
  job.record.pictures = recorded.pictures;
  job.size_bound = detail::size_of(job.record.objects);
}

void note_discontinuities(FrameJob& job) {
  for (const Discontinuity one : Discontinuities::kRank)
    if (job.discontinuities.contains(one)) job.record.discontinuities.push_back(one);
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
      if (auto* parked = std::get_if<std::unique_ptr<FrameJob>>(&*work))
        begin_if_nothing_waits(**parked);
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
  job->record.frame.pictures = {};  // only capsules give them
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
  if (read->recorded) begin_with(*read->recorded, *job);
  if (rules_.keeps_steps) note_discontinuities(*job);
  for (const Route::Stop& stop : job->route->stops) stop.lane->gate.open(job->ticket);
  if (windows_.has_windows()) {
    posts += add_work(windows_.begin(*job, records_.next()));
    if (intake_.is_exhausted()) posts += add_work(windows_.end());
    if (!job->has_passed_all() && !job->hands_in_nodes()) job = windows_.await(std::move(job));
  }
  if (job) {
    enter_if_open(*job);
    begin_if_nothing_waits(*job);
  }
  return job;
}

/// If this worker can run the frame's first step at once, gives the frame its place and its
/// options. This saves begin_options().
void Stream::begin_if_nothing_waits(FrameJob& job) {
  if (job.has_options || job.has_passed_all() || job.hands_in_nodes() || job.lacks_window() ||
      job.may_gather() || (job.is_at_gate() && !job.inside_gate))
    return;
  SharedCallPlaces& places = job.compiled_step().slot->places;
  if (places.is_bounded() && !job.holds_place && job.is_for_capsule()) {
    if (!places.try_take_idle()) return;
    job.holds_place = true;
  }
  changes_.begin(job);
}

/// The frame begins its first step with the options that hold now.
void Stream::begin_options(FrameJob& job) {
  if (job.has_options) return;
  std::shared_ptr<const Route> before = job.route;  // released after the lock
  const MutexLock lock(mutex_, kAdaptive);
  changes_.begin(job);
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
  if (auto* run = std::get_if<std::shared_ptr<StepRun>>(&work)) return help_run(*run);
  BatchTurn turn = std::get<BatchTurn>(std::move(work));
  if (turn.has_place) return run_batch(turn);
  {
    const MutexLock lock(mutex_, kAdaptive);
    if (!turn.route->stops[turn.step].lane->batches.begin_call()) return nullptr;
  }
  return begin_batch(std::move(turn));
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

/// What a step of a stateful capsule needs besides the frame.
struct Stream::StateOfStep {
  Discontinuity seen;  ///< by the capsule
  StreamHandle state{};
};

/// Called for each frame that is at the step of a stateful capsule, inside its gate.
Stream::StateOfStep Stream::state_of_step(const FrameJob& job) {
  CapsuleLane& lane = job.lane();
  // If this capsule is not called for a frame of a slice, the frame comes before the first frame
  // of a state.
  if (job.is_in_step())
    lane.owed.add(job.discontinuities);
  else if (!job.record.frame.is_null)
    lane.owed.clear();
  const CapsuleInfo& info = job.compiled_step().slot->capsule->info();
  StateOfStep result{.seen = lane.owed.owed(info.warmup).foremost_besides(info.keeps_state_at)};
  if (!job.record.frame.is_null) lane.owed.pass_frame();
  result.state = lane.states.serve(job.route->stops[job.step].state_number);
  // For the capsule, a frame that it was left out of is a gap.
  if (job.left_out && job.is_for_capsule()) lane.owed.add(Discontinuity::gap);
  return result;
}

/// Runs the frame's step, unless the capsule is left out. Null if the frame waits for a place, or
/// if another worker continues with it.
std::unique_ptr<FrameJob> Stream::call_capsule(std::unique_ptr<FrameJob> job) {
  job->left_out = is_passed_by(*job);
  std::optional<StepCalls> calls = job->left_out ? std::nullopt : StepCalls::begin(*job);
  if (calls && !take_place(*job)) {
    calls.reset();
    job = park(std::move(job));
    return job ? call_capsule(std::move(job)) : nullptr;
  }
  begin_options(*job);
  StateOfStep state{.seen = job->record.frame.discontinuity,
                    .state = job->route->stops[job->step].parameters};
  if (job->is_at_gate()) state = state_of_step(*job);
  if (!calls) {
    leave_step(*job);
    return job;
  }
  if (job->is_at_gate()) job->lane().owed.clear();
  std::optional<Frame> with_seen;  // only if it differs, since pixels are counted
  if (state.seen != job->record.frame.discontinuity || !job->record.frame.pictures.empty()) {
    with_seen = job->record.frame;
    with_seen->discontinuity = state.seen;
    with_seen->pictures = taken_pictures(job->compiled_step(), job->record.frame.pictures);
  }
  StepContext context{.route = job->route.get(),
                      .number = job->step,
                      .stream_id = &id_,
                      .frame = with_seen ? &*with_seen : &job->record.frame,
                      .trace_frame = job->trace_frame,
                      .state = std::move(state.state),
                      .window = std::exchange(job->window, {})};
  if (context.window && context.window->present)
    context.window->frames[*context.window->present].discontinuity = state.seen;
  if (!calls->is_one_call() || rules_.watches_calls())
    return run_calls(std::move(job), *std::move(calls), std::move(context));
  calls->run_only_call(context, job->record);
  leave_step(*job);
  return job;
}

/// Makes the calls in a StepRun, which other workers may join.
std::unique_ptr<FrameJob> Stream::run_calls(std::unique_ptr<FrameJob> job, StepCalls calls,
                                            StepContext context) {
  const std::size_t first_calls = calls.calls();
  const bool stateful = job->compiled_step().slot->stateful;
  const auto run = std::make_shared<StepRun>(std::move(job), std::move(calls), std::move(context));
  watch(run);
  if (!stateful) call_helpers(run, first_calls);
  return join_run(run);
}

/// Whether the step is skipped for this frame.
bool Stream::is_passed_by(FrameJob& job) {
  // If abandoned, no record will be written.
  return !job.is_for_capsule() || abandoned_ || is_left_out(job);
}

/// Whether the capsule is left out of this frame; if so, notes that in the record.
bool Stream::is_left_out(FrameJob& job) {
  if (job.route->stops[job.step].stands_in) return true;  // the record has what it gave
  const CapsuleSlot& slot = *job.compiled_step().slot;
  if (const std::string* const missing = missing_picture(job)) {
    job.record.warnings.push_back(
        {.capsule = slot.name(),
         .code = kMissingPicture,
         .message = "left out: this frame lacks picture " + quote(*missing) +
                    ", since the capsule that gives it failed, was left out, or gave none that is "
                    "as declared"});
    return true;
  }
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
/// `has_place`: whether this worker holds a place for its calls, besides the frame's.
std::unique_ptr<FrameJob> Stream::join_run(const std::shared_ptr<StepRun>& run, bool has_place) {
  RunHelpers helpers(*this, run);
  const StepContext& context = run->context();
  CapsuleSlot& slot = *context.step().slot;
  StepRun::Outcome outcome = run->run(slot.stateful ? nullptr : &helpers, has_place);
  if (outcome.too_late)
    note_return(context.stop(), slot, *context.stream_id, context.frame->index);
  else if (has_place)
    slot.places.leave();
  if (outcome.job) leave_step(*outcome.job);
  return std::move(outcome.job);
}

/// As join_run(), for a worker that shares the calls. It does nothing if the capsule has no place
/// for more calls; the worker of the frame then makes them.
std::unique_ptr<FrameJob> Stream::help_run(const std::shared_ptr<StepRun>& run) {
  SharedCallPlaces& places = run->context().step().slot->places;
  if (!places.is_bounded()) return join_run(run);
  return places.try_take_idle() ? join_run(run, true) : nullptr;
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
  const bool holds_place = std::exchange(job.holds_place, false);
  job.alone = false;
  job.window.reset();
  if (!job.record.frame.pictures.empty()) release_pictures(job);
  if (rules_.keeps_steps) note_step(job, slot.name());

  const FrameRecord::CapsuleError* error = nullptr;
  if (was_called) {
    const auto found =
        std::ranges::find(job.record.errors, slot.name(), &FrameRecord::CapsuleError::capsule);
    if (found != job.record.errors.end()) error = &*found;
    slot.trial.note(error != nullptr);
    if (slot.quarantine.note(error != nullptr))
      log_quarantine("all streams", slot.name(), slot.quarantine.policy(), error->message);
  }
  // Before this worker goes on, so that the next call begins at once.
  if (holds_place) slot.places.leave();
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
    if (holds_call) posts += end_batch_call(job.route, step);
  }
  post(posts);
  if (begins_pause) log_quarantine("stream " + id_, slot.name(), rules_.quarantine, error->message);
}

void Stream::note_step(FrameJob& job, const std::string& capsule) const {
  FrameRecord& record = job.record;
  record.steps.push_back({.capsule = capsule,
                          .objects = record.objects,
                          .errors = record.errors.size(),
                          .warnings = record.warnings.size(),
                          .pictures = record.pictures.size()});
}

/// Frees the pictures that no later step and no reader of the record needs.
void Stream::release_pictures(FrameJob& job) const {
  if (rules_.keeps_pictures) return;
  const auto later = std::span(*job.route->compiled_plan).subspan(job.step);
  const auto is_needed = [&](const std::string& name) {
    return rules_.kept_pictures.contains(name) ||
           std::ranges::any_of(later, [&](const CompiledStep& step) {
             return std::ranges::find(step.takes_pictures(), name, &PictureDescription::name) !=
                    step.takes_pictures().end();
           });
  };
  std::vector<std::string> over;
  for (const auto& [name, image] : job.record.frame.pictures)
    if (!is_needed(name)) over.push_back(name);
  for (const std::string& name : over) job.record.frame.pictures.erase(name);
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
