// SPDX-License-Identifier: Apache-2.0
#include "streams/batch_run.hpp"

#include <unistd.h>

#include <utility>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// The call that a frame needs; `nullopt` if it needs none. The record does not change.
std::optional<StepCalls> only_call(FrameJob& job) {
  const std::size_t errors = job.record.errors.size();
  std::optional<StepCalls> call = StepCalls::begin(job);
  job.record.errors.resize(errors);
  return call;
}

}  // namespace

BatchRun::BatchRun(Batch jobs, std::string stream_id)
    : route_(jobs.front()->route),
      step_(jobs.front()->step),
      stream_id_(std::move(stream_id)),
      trace_frame_(jobs.front()->trace_frame),
      jobs_(std::move(jobs)) {
  const MutexLock lock(mutex_);
  inputs_ = prepare(jobs_);
}

std::optional<BatchRun::Inputs> BatchRun::prepare(const Batch& jobs) {
  try {
    Inputs inputs;
    for (const std::unique_ptr<FrameJob>& job : jobs) {
      std::optional<StepCalls> call = only_call(*job);
      if (!call) return std::nullopt;
      frames_.push_back(job->record.frame);
      frames_.back().pictures = taken_pictures(job->compiled_step(), job->record.frame.pictures);
      if (job->stencil() && !job->window) return std::nullopt;
      if (job->window) windows_.push_back(*job->window);
      inputs.nodes.push_back(call->nodes(0));
      inputs.calls.push_back(*std::move(call));
    }
    return inputs;
  } catch (...) {
    // Each frame is then called by itself, which shows the frame at fault and its error.
    return std::nullopt;
  }
}

/// False if there is no call to make. Otherwise moves the call's nodes to `nodes`.
bool BatchRun::begin(std::vector<DetectionNodes>& nodes) {
  const MutexLock lock(mutex_);
  if (jobs_.empty() || !inputs_) return false;
  nodes = std::move(inputs_->nodes);
  in_call_ = true;
  worker_ = WorkPool::current();
  thread_ = ::gettid();
  since_ = std::chrono::steady_clock::now();
  return true;
}

BatchRun::Results BatchRun::call(std::vector<DetectionNodes>& nodes) {
  const auto start = std::chrono::steady_clock::now();
  try {
    std::optional<CapsuleTrace::Call> traced;
    if (slot().trace)
      traced.emplace(*slot().trace, stream_id_, frames_.front().index, trace_frame_);
    Results results{.nodes = {}, .reports = std::vector<detail::OutputReport>(frames_.size())};
    const detail::OutputScope scope({.policy = &slot().outputs, .reports = results.reports});
    results.nodes = call_capsule(nodes);
    if (results.nodes)
      slot().meter.add(start, std::chrono::steady_clock::now(), false);
    else
      slot().has_process_frames = false;
    return results;
  } catch (...) {
    slot().meter.add(start, std::chrono::steady_clock::now(), true);
    return {};
  }
}

/// `nullopt` if the backend lacks the function for several frames.
std::optional<std::vector<DetectionNodes>> BatchRun::call_capsule(
    std::vector<DetectionNodes>& nodes) const {
  Capsule& capsule = *slot().capsule;
  const OptionValues& options = route_->options[step_];
  const StreamHandle& parameters = route_->stops[step_].parameters;
  const StreamRef stream = parameters ? StreamRef(parameters) : StreamRef(stream_id_);
  if (windows_.empty()) return capsule.process_frames(frames_, nodes, options, stream);
  std::vector<std::vector<DetectionNodes>> window_nodes;
  std::vector<FrameWindow> windows;
  for (std::size_t i = 0; i < windows_.size(); ++i)
    window_nodes.push_back(nodes_of_window(windows_[i], std::move(nodes[i])));
  for (std::size_t i = 0; i < windows_.size(); ++i)
    windows.push_back({.frames = windows_[i].frames, .nodes = window_nodes[i]});
  return capsule.process_windows(frames_, windows, options, stream);
}

BatchRun::Outcome BatchRun::run() {
  std::vector<DetectionNodes> nodes;
  Results results;
  if (begin(nodes)) results = call(nodes);
  const MutexLock lock(mutex_);
  watch_.end();
  if (jobs_.empty()) return {.too_late = in_call_};
  in_call_ = false;
  const bool done = results.nodes.has_value();
  if (done) store(std::move(results));
  inputs_.reset();
  return {.jobs = std::exchange(jobs_, {}), .done = done};
}

void BatchRun::store(Results results) {
  for (std::size_t i = 0; i < jobs_.size(); ++i) try {
      StepCalls& call = inputs_->calls[i];
      DetectionNodes& given = (*results.nodes)[i];
      Pictures pictures = given.take_pictures();
      call.end_call(0,
                    {std::move(given).take(), std::move(results.reports[i]), std::move(pictures)});
      call.finish(jobs_[i]->record);
    } catch (...) {  // no memory; only this frame fails, since others have their results
      jobs_[i]->record.errors.push_back(current_capsule_error(slot().name()));
    }
}

void BatchRun::set_watch(Watchdog::Watch watch) {
  const MutexLock lock(mutex_);
  if (!jobs_.empty()) watch_ = std::move(watch);
}

// Under the lock, so that the call has not returned: its worker may then be busy with other work.
BatchRun::GivenUp BatchRun::give_up(const std::string& why, WorkPool& pool) {
  const MutexLock lock(mutex_);
  if (jobs_.empty()) return {};
  watch_.end();
  for (const std::unique_ptr<FrameJob>& job : jobs_)
    job->record.errors.push_back(
        {slot().name(), std::string(to_string(ErrorCode::deadline_exceeded)),
         "it " + why + " for this frame and " + std::to_string(jobs_.size() - 1) +
             " others together; they continued without it"});
  if (in_call_) {
    ++route_->stops[step_].health->hung;
    pool.give_up(worker_);
  }
  inputs_.reset();
  return {.jobs = std::exchange(jobs_, {}), .thread = in_call_ ? thread_ : 0, .since = since_};
}

}  // namespace vcap
