// SPDX-License-Identifier: Apache-2.0
// Calls of capsules that take longer than StreamConfig::capsule_deadline, or that
// Pipeline::give_up_calls() gives up.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/text.hpp"
#include "streams/stream.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::string backends_text(const CapsuleSlot& slot) {
  std::string text;
  for (const BackendStatistics& backend : slot.capsule->backends()) {
    text +=
        "; backend on " + backend.device + ": " + counted(backend.running, "call") + " in progress";
    if (backend.batches)
      text += ", batch of " + std::to_string(backend.batches->running) + " in predict, " +
              counted(backend.batches->queued, "input") + " queued";
  }
  return text;
}

std::string thread_text(std::chrono::steady_clock::time_point since, pid_t thread) {
  const double lasted = seconds(std::chrono::steady_clock::now() - since);
  return number_text(std::round(lasted * 1000) / 1000) + " s in thread " + std::to_string(thread);
}

std::string step_text(const Route& route, std::size_t step) {
  const CapsuleSlot& slot = *(*route.compiled_plan)[step].slot;
  return "capsule " + slot.name() + " version " + std::to_string(slot.capsule->info().version) +
         " (step " + std::to_string(step + 1) + " of " +
         std::to_string(route.compiled_plan->size()) + ")";
}

/// Text for the log about calls that do not return: the step, threads, backends and batches.
std::string describe_work(const StepRun& run, const std::vector<StepRun::Call>& calls,
                          const std::string& why) {
  const StepContext& context = run.context();
  std::string text =
      "stream " + *context.stream_id + ": frame " + std::to_string(context.frame->index) + ": " +
      step_text(*context.route, context.number) + " " + why + "; the frame continues without it";
  for (const StepRun::Call& call : calls)
    text += "; call " + std::to_string(call.number + 1) + " of " + std::to_string(run.calls()) +
            " for " + thread_text(call.since, call.thread);
  return text + backends_text(*context.step().slot);
}

std::string describe_work(const BatchRun& run, const BatchRun::GivenUp& left,
                          const std::string& why) {
  std::string text = "stream " + run.stream_id() + ": frames " +
                     std::to_string(left.jobs.front()->record.frame.index) + " to " +
                     std::to_string(left.jobs.back()->record.frame.index) +
                     " in one call: " + step_text(run.route(), run.step()) + " " + why +
                     "; these " + std::to_string(left.jobs.size()) + " frames continue without it";
  if (left.thread != 0) text += "; the call for " + thread_text(left.since, left.thread);
  return text + backends_text(run.slot());
}

}  // namespace

void Stream::watch(const std::shared_ptr<StepRun>& run) {
  watch(run, *run->context().step().slot, rules_.deadline, rules_.deadline);
}

void Stream::watch(const std::shared_ptr<BatchRun>& run) {
  watch(run, run->slot(), rules_.deadline, rules_.deadline);
}

/// Gives the run up after `wait`, or at Pipeline::give_up_calls(), unless it has ended or is
/// allowed to take longer; `wait` 0: only then. Called before the run makes any call. `limit`: the
/// whole time that it may have taken by then.
template <class Run>
void Stream::watch(const std::shared_ptr<Run>& run, const CapsuleSlot& slot,
                   std::chrono::nanoseconds wait, std::chrono::nanoseconds limit) {
  if (!rules_.watches_calls()) return;
  run->set_watch(services_.watchdog.watch(
      wait.count() > 0 ? wait : Watchdog::kNoLimit,
      [stream = weak_from_this(), run = std::weak_ptr(run), &slot, limit] {
        const auto live_stream = stream.lock();
        const auto live_run = run.lock();  // holds the slot, too
        if (!live_stream || !live_run) return false;
        if (Watchdog::is_expiring())
          return live_stream->give_up(live_run, "had not returned when the run was ended");
        const std::chrono::nanoseconds more = live_stream->extension(slot, limit);
        if (more.count() == 0)
          return live_stream->give_up(
              live_run, "has taken longer than " + number_text(seconds(limit)) + " s");
        live_stream->watch(live_run, slot, more, limit + more);
        return false;
      },
      limit - wait));
}

/// How much longer than `limit` a call may take: until first_call_deadline, while a backend of the
/// capsule makes its first call, which may include the compilation of a network. Which backend a
/// call has is not known here, so this counts for all calls of the capsule at that time.
std::chrono::nanoseconds Stream::extension(const CapsuleSlot& slot,
                                           std::chrono::nanoseconds limit) const {
  if (rules_.first_call_deadline <= limit) return {};
  const std::vector<BackendStatistics> backends = slot.capsule->backends();
  const bool is_first = std::ranges::any_of(backends, [](const BackendStatistics& backend) {
    return backend.running > 0 && backend.call_ns.count() == 0;
  });
  return is_first ? rules_.first_call_deadline - limit : std::chrono::nanoseconds(0);
}

/// False if the run has just ended. [watchdog's thread, or that of Pipeline::give_up_calls()]
bool Stream::give_up(const std::shared_ptr<StepRun>& run, const std::string& why) {
  StepRun::GivenUp left = run->give_up(why, services_.pool);
  if (!left.job) return false;
  // Calls that do not return must not keep other frames from the capsule, nor must the log hook.
  SharedCallPlaces& places = run->context().step().slot->places;
  if (std::exchange(left.job->holds_place, false)) places.leave();
  for (const StepRun::Call& call : left.calls)
    if (call.has_place) places.leave();
  log(LogLevel::error, describe_work(*run, left.calls, why));
  if (left.job->is_at_gate()) left.job->lane().owed.add(Discontinuity::gap);
  leave_step(*left.job);
  {
    const MutexLock lock(mutex_);
    ++account_.own().overdue;
    work_.emplace_back(std::move(left.job));
  }
  post(1);
  return true;
}

/// As for a StepRun.
bool Stream::give_up(const std::shared_ptr<BatchRun>& run, const std::string& why) {
  BatchRun::GivenUp left = run->give_up(why, services_.pool);
  if (left.jobs.empty()) return false;
  if (run->slot().places.is_bounded()) run->slot().places.leave();
  log(LogLevel::error, describe_work(*run, left, why));
  const std::shared_ptr<const Route> route = left.jobs.front()->route;
  for (const std::unique_ptr<FrameJob>& job : left.jobs) leave_step(*job);
  std::size_t posts = 0;
  {
    const MutexLock lock(mutex_);
    account_.own().overdue += static_cast<std::int64_t>(left.jobs.size());
    posts = add_work(std::move(left.jobs));
    posts += end_batch_call(route, run->step());
  }
  post(posts);
  return true;
}

/// Called when a call that was given up has returned. The stream, and even the pipeline, may have
/// ended.
void Stream::note_return(const Route::Stop& stop, const CapsuleSlot& slot,
                         const std::string& stream_id, std::int64_t frame) {
  --stop.health->hung;
  log(LogLevel::info, "stream " + stream_id + ": frame " + std::to_string(frame) + ": capsule " +
                          slot.name() + " has returned from a call that was given up");
}

}  // namespace vcap
