// SPDX-License-Identifier: Apache-2.0
// Calls of capsules that take longer than StreamConfig::capsule_deadline.
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

}  // namespace

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
  StepRun::GivenUp left = run->give_up(rules_.deadline, services_.pool);
  if (!left.job) return;
  log(LogLevel::error, describe_work(*run, left.calls));
  if (left.job->is_at_gate()) left.job->lane().owed.add(Discontinuity::gap);
  leave_step(*left.job);
  {
    const MutexLock lock(mutex_);
    ++overdue_;
    work_.emplace_back(std::move(left.job));
  }
  post(1);
}

/// Text for the log about calls that do not return: the stream, frame, step, threads, backends and
/// batches.
std::string Stream::describe_work(const StepRun& run,
                                  const std::vector<StepRun::Call>& calls) const {
  const StepContext& context = run.context();
  const CapsuleSlot& slot = *context.step().slot;
  std::string text = "stream " + id_ + ": frame " + std::to_string(context.frame->index) +
                     ": capsule " + slot.name() + " version " +
                     std::to_string(slot.capsule->info().version) + " (step " +
                     std::to_string(context.number + 1) + " of " + std::to_string(context.steps()) +
                     ") has taken longer than " + number_text(seconds(rules_.deadline)) +
                     " s; the frame continues without it";
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
  const StepContext& context = run.context();
  --context.stop().health->hung;
  log(LogLevel::info, "stream " + *context.stream_id + ": frame " +
                          std::to_string(context.frame->index) + ": capsule " +
                          context.step().slot->name() +
                          " has returned from a call that was given up");
}

}  // namespace vcap
