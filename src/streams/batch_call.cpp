// SPDX-License-Identifier: Apache-2.0
#include "streams/batch_call.hpp"

#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

#include "records/node_tree.hpp"
#include "streams/step_calls.hpp"

namespace vcap {

bool call_together(std::span<const std::unique_ptr<FrameJob>> jobs, const std::string& stream_id) {
  const CompiledStep& step = jobs.front()->compiled_step();
  CapsuleSlot& slot = *step.slot;
  const auto begin = std::chrono::steady_clock::now();
  bool called = false;
  try {
    std::vector<Frame> frames;
    std::vector<TakenNodes> taken;
    std::vector<DetectionNodes> nodes;
    for (const std::unique_ptr<FrameJob>& job : jobs) {
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
      traced.emplace(*slot.trace, stream_id, frames.front().index, jobs.front()->trace_frame);
    called = true;
    auto results = slot.capsule->process_frames(
        frames, nodes, jobs.front()->route->options[jobs.front()->step], stream_id);
    if (!results) {
      slot.has_process_frames = false;
      return false;
    }
    slot.meter.add(begin, std::chrono::steady_clock::now(), false);
    for (std::size_t i = 0; i < jobs.size(); ++i) try {
        std::vector<DetectionNode>& objects = jobs[i]->record.objects;
        std::vector<DetectionNode> returned = std::move((*results)[i]).take();
        if (step.takes_nodes())
          std::move(taken[i]).put_back(std::move(returned));
        else
          std::move(returned.begin(), returned.end(), std::back_inserter(objects));
      } catch (...) {  // no memory; only this frame fails, since others have their results
        jobs[i]->record.errors.push_back(current_capsule_error(slot.name()));
      }
    return true;
  } catch (...) {
    // Each frame is then called by itself, which shows the frame at fault and its error.
    if (called) slot.meter.add(begin, std::chrono::steady_clock::now(), true);
    return false;
  }
}

}  // namespace vcap
