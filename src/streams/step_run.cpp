// SPDX-License-Identifier: Apache-2.0
#include "streams/step_run.hpp"

#include <unistd.h>

#include <string>
#include <utility>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

namespace {

StepContext moved_to(StepContext context, const Route& route, const std::string& stream_id,
                     const Frame& frame) {
  context.route = &route;
  context.stream_id = &stream_id;
  context.frame = &frame;
  return context;
}

}  // namespace

StepRun::StepRun(std::unique_ptr<FrameJob> job, StepCalls calls, StepContext context)
    : route_(job->route),
      stream_id_(*context.stream_id),
      frame_(*context.frame),
      context_(moved_to(std::move(context), *route_, stream_id_, frame_)),
      round_calls_(calls.calls()),
      job_(std::move(job)),
      calls_(std::move(calls)) {}

StepRun::Outcome StepRun::run(Helpers* helpers, bool has_place) {
  Outcome outcome;
  for (;;) {
    DetectionNodes nodes;
    std::optional<StepContext::Result> result;
    const std::optional<Call> call = begin_call(has_place, result, nodes);
    if (!call) return outcome;
    if (!result) result = context_.call(std::move(nodes));
    std::size_t next_calls = 0;
    if (end_call(*call, *std::move(result), outcome, next_calls)) return outcome;
    if (helpers && next_calls > 1) helpers->help(next_calls);
  }
}

/// `nullopt` if no call is left. The nodes are copied here: after give_up(), the tree may belong to
/// another thread. `failed`: the call's result if copying fails.
std::optional<StepRun::Call> StepRun::begin_call(bool has_place,
                                                 std::optional<StepContext::Result>& failed,
                                                 DetectionNodes& nodes) {
  const MutexLock lock(mutex_);
  if (!job_) return std::nullopt;
  const std::optional<std::size_t> number = calls_.begin_call();
  if (!number) return std::nullopt;
  Call call{.number = *number,
            .worker = WorkPool::current(),
            .thread = ::gettid(),
            .since = std::chrono::steady_clock::now(),
            .has_place = has_place,
            .is_listed = true};
  try {
    in_progress_.push_back(call);
  } catch (...) {
    call.is_listed = false;
    failed = current_capsule_error(context_.step().slot->name());
    return call;
  }
  try {
    nodes = calls_.nodes(*number);
  } catch (...) {
    failed = current_capsule_error(context_.step().slot->name());
  }
  return call;
}

/// True if this thread has no more to do here. `next_calls`: the calls of a round that has begun.
bool StepRun::end_call(const Call& call, StepContext::Result result, Outcome& outcome,
                       std::size_t& next_calls) {
  const MutexLock lock(mutex_);
  if (!job_) {
    outcome.too_late = call.is_listed;
    return true;
  }
  std::erase_if(in_progress_, [&](const Call& one) { return one.number == call.number; });
  if (!calls_.end_call(call.number, std::move(result))) return false;
  if (calls_.next_round(job_->record)) {
    round_calls_ = next_calls = calls_.calls();
    return false;
  }
  calls_.finish(job_->record);
  watch_.end();
  outcome.job = std::move(job_);
  return true;
}

void StepRun::set_watch(Watchdog::Watch watch) {
  const MutexLock lock(mutex_);
  if (job_) watch_ = std::move(watch);
}

// Under the lock, so that no call has returned: its worker may then be busy with other work.
StepRun::GivenUp StepRun::give_up(const std::string& why, WorkPool& pool) {
  const MutexLock lock(mutex_);
  if (!job_) return {};
  watch_.end();
  job_->record.errors.push_back({context_.step().slot->name(),
                                 std::string(to_string(ErrorCode::deadline_exceeded)),
                                 "it " + why + "; this frame continued without it"});
  context_.stop().health->hung += in_progress_.size();
  for (const Call& call : in_progress_) pool.give_up(call.worker);
  return {std::move(job_), std::move(in_progress_)};
}

}  // namespace vcap
