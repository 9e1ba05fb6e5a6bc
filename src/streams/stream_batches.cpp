// SPDX-License-Identifier: Apache-2.0
// How frames of a stored stream go to a capsule together (Backend::process_frames).
#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <utility>

#include "base/adaptive_lock.hpp"
#include "records/node_tree.hpp"
#include "streams/stream.hpp"

namespace vcap {

/// Whether the frame may wait to go with others. Live frames go on at once. With a deadline, each
/// frame is called by itself.
bool Stream::gathers(const FrameJob& job) const {
  const CompiledStep& step = job.compiled_step();
  const auto& batch = step.slot->capsule->info().batch;
  return batch && batch->maximum > 1 && !step.slot->stateful && !step.stencil() && !job.alone &&
         step.needs.size != NodeDescription::Size::single &&
         rules_.overflow == OverflowPolicy::wait && rules_.deadline.count() == 0 &&
         step.slot->takes_together;
}

/// Adds the frame to those that wait, or takes it to the capsule with them. A batch has no linger:
/// it fills while the backends are busy. Returns a job that this worker continues with, or null.
std::unique_ptr<FrameJob> Stream::gather(std::unique_ptr<FrameJob> job) {
  job->left_out = is_passed_by(*job);
  if (job->left_out) {
    pass_turn(*job);
    leave_step(*job);
    return job;
  }
  job->leads = false;
  const std::shared_ptr<const Route> route = job->route;  // keeps `gathering` alive
  CapsuleLane::Gathering& gathering = job->lane().gathering;
  const std::size_t most_calls = job->compiled_step().slot->backends;
  Batch batch;
  {
    const std::unique_lock lock = adaptive_lock(mutex_);
    const std::uint64_t ticket = job->ticket;
    gathering.waiting.emplace(ticket, std::move(job));
    if (gathering.calls == most_calls) return nullptr;
    ++gathering.calls;
    batch = take_batch(gathering);
  }
  if (batch.size() == 1) {
    batch.front()->alone = batch.front()->holds_call = true;
    return std::move(batch.front());
  }
  run_together(batch);
  for (const std::unique_ptr<FrameJob>& one : batch)
    if (!one->alone) leave_step(*one);
  job = std::move(batch.front());
  std::unique_lock lock = adaptive_lock(mutex_);
  for (auto one = std::next(batch.begin()); one != batch.end(); ++one) {
    work_.emplace_back(std::move(*one));
    ++released_;
  }
  post_released(lock);
  end_call(gathering, lock);
  return job;
}

/// Requires `mutex_`; temporarily releases it.
void Stream::end_call(CapsuleLane::Gathering& gathering, std::unique_lock<std::mutex>& lock) {
  --gathering.calls;
  wake_one(gathering, lock);
}

/// Posts one of the waiting frames, which then takes the others with it. Requires `mutex_`;
/// temporarily releases it.
void Stream::wake_one(CapsuleLane::Gathering& gathering, std::unique_lock<std::mutex>& lock) {
  if (gathering.waiting.empty()) return;
  auto first = gathering.waiting.extract(gathering.waiting.begin());
  first.mapped()->leads = true;
  work_.emplace_back(std::move(first.mapped()));
  ++released_;
  post_released(lock);
}

/// If the frame was chosen to take others with it but is not called, chooses another one.
void Stream::pass_turn(FrameJob& job) {
  if (!std::exchange(job.leads, false)) return;
  std::unique_lock lock = adaptive_lock(mutex_);
  wake_one(job.lane().gathering, lock);
}

/// Requires `mutex_`. Takes waiting frames of one route, and so with the same options; their number
/// suits the model (BatchSizes).
Stream::Batch Stream::take_batch(CapsuleLane::Gathering& gathering) const {
  auto& waiting = gathering.waiting;
  const FrameJob& first = *waiting.begin()->second;
  const BatchSizes sizes = *first.compiled_step().slot->capsule->info().batch;
  std::size_t count = 0;
  for (auto one = waiting.begin();
       one != waiting.end() && count < sizes.maximum && one->second->route == first.route; ++one)
    ++count;
  if (sizes.preferred > 0 && count > sizes.preferred && count < sizes.maximum)
    count -= count % sizes.preferred;
  Batch batch;
  for (; count > 0; --count) batch.push_back(std::move(waiting.extract(waiting.begin()).mapped()));
  return batch;
}

/// Marks the frames to be called one by one, if the call for all of them failed.
void Stream::run_together(Batch& batch) const {
  std::vector<FrameJob*> jobs;
  for (const std::unique_ptr<FrameJob>& job : batch) jobs.push_back(job.get());
  const bool done = call_together(jobs);
  for (FrameJob* job : jobs) job->alone = !done;
}

/// False if the call failed, or if the backend lacks `process_frames()`. The records are then
/// unchanged.
bool Stream::call_together(std::span<FrameJob* const> jobs) const {
  const CompiledStep& step = jobs.front()->compiled_step();
  CapsuleSlot& slot = *step.slot;
  const auto begin = std::chrono::steady_clock::now();
  bool called = false;
  try {
    std::vector<Frame> frames;
    std::vector<TakenNodes> taken;
    std::vector<DetectionNodes> nodes;
    for (FrameJob* job : jobs) {
      frames.push_back(job->record.frame);
      if (step.takes_nodes()) {
        taken.emplace_back(job->record.objects, step.needs);
        nodes.push_back(taken.back().copy());
      } else {
        nodes.push_back(DetectionNodes::none());
      }
    }
    std::optional<CapsuleTrace::Call> traced;
    if (slot.trace)
      traced.emplace(*slot.trace, id_, frames.front().index, jobs.front()->trace_frame);
    called = true;
    auto results = slot.capsule->process_frames(
        frames, nodes, jobs.front()->route->options[jobs.front()->step], id_);
    if (!results) {
      slot.takes_together = false;
      return false;
    }
    slot.meter.add(begin, std::chrono::steady_clock::now(), false);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      std::vector<DetectionNode>& objects = jobs[i]->record.objects;
      std::vector<DetectionNode> returned = std::move((*results)[i]).take();
      if (step.takes_nodes())
        std::move(taken[i]).put_back(std::move(returned));
      else
        std::move(returned.begin(), returned.end(), std::back_inserter(objects));
    }
    return true;
  } catch (...) {
    // Each frame is then called by itself, which shows the frame at fault and its error.
    if (called) slot.meter.add(begin, std::chrono::steady_clock::now(), true);
    return false;
  }
}

}  // namespace vcap
