// SPDX-License-Identifier: Apache-2.0
#include "streams/stencil_windows.hpp"

#include <algorithm>
#include <utility>

#include "records/node_tree.hpp"
#include "streams/frame_job.hpp"
#include "streams/step_calls.hpp"

namespace vcap {

StencilWindows::StencilWindows() = default;
StencilWindows::~StencilWindows() = default;

std::shared_ptr<const DetectionNodes> StencilWindows::nodes_of(FrameJob& job) {
  const CompiledStep& step = job.compiled_step();
  DetectionNodes nodes;
  if (step.needs.size == NodeDescription::Size::all) {
    try {
      nodes = TakenNodes(job.record.objects, step.needs).copy();
    } catch (...) {
      nodes = DetectionNodes::all();
    }
  }
  for (const auto& [name, image] : taken_pictures(step, job.record.frame.pictures))
    nodes.give_picture(name, image);
  return std::make_shared<DetectionNodes>(std::move(nodes));
}

void StencilWindows::extend(const CompiledPlan& plan) {
  std::int64_t ahead = 0;
  for (const CompiledStep& step : plan) {
    if (!step.stencil()) continue;
    ahead += step.stencil()->ahead();
    look_back_ =
        std::max(look_back_.value_or(0), static_cast<std::uint64_t>(step.stencil()->back()));
  }
  look_ahead_ = std::max(look_ahead_, static_cast<std::size_t>(ahead));
}

StencilWindows::ReadyJobs StencilWindows::begin(const FrameJob& job, std::uint64_t oldest) {
  const bool begins_run = last_run_ && *last_run_ != job.route->run;
  history_.begin(job.ticket, job.record.frame, begins_run || !job.discontinuities.empty());
  oldest -= std::min(oldest, *look_back_);
  history_.forget_before(oldest);
  const bool is_same = !last_route_.owner_before(job.route) && !job.route.owner_before(last_route_);
  const bool changes = last_run_ && !is_same;
  if (!is_same) {
    for (const std::shared_ptr<Arrivals>& last : last_arrivals_) {
      const bool goes_on = std::ranges::find(job.route->stops, last, &Route::Stop::arrivals) !=
                           job.route->stops.end();
      if (!goes_on && last->begun) last->bounds.end = job.ticket;
    }
    last_route_ = job.route;
    last_run_ = job.route->run;
    last_arrivals_.clear();
    for (const Route::Stop& stop : job.route->stops) last_arrivals_.push_back(stop.arrivals);
  }
  for (std::size_t i = 0; i < job.route->stops.size(); ++i) {
    const CompiledStep& step = (*job.route->compiled_plan)[i];
    if (!step.sees_results_of_others()) continue;
    Arrivals& arrivals = *job.route->stops[i].arrivals;
    if (!std::exchange(arrivals.begun, true)) arrivals.bounds.first = job.ticket;
    arrivals.nodes.erase(arrivals.nodes.begin(), arrivals.nodes.lower_bound(oldest));
  }
  return changes ? release_all() : release(std::nullopt);
}

StencilWindows::ReadyJobs StencilWindows::end() {
  history_.end();
  return release_all();
}

StencilWindows::ReadyJobs StencilWindows::hand_in(FrameJob& job,
                                                  std::shared_ptr<const DetectionNodes> nodes) {
  job.arrivals().nodes.emplace(job.ticket, std::move(nodes));
  job.arrived_at = job.step;
  return release(job.ticket);
}

std::unique_ptr<FrameJob> StencilWindows::await(std::unique_ptr<FrameJob> job) {
  if (!job->lacks_window() || take_window(*job)) return job;
  const std::uint64_t ticket = job->ticket;
  awaiting_.emplace(ticket, std::move(job));
  return nullptr;
}

/// Checks all parked frames.
StencilWindows::ReadyJobs StencilWindows::release_all() {
  for (auto& [ticket, job] : awaiting_) job->waits_for.reset();
  return release(std::nullopt);
}

/// Checks the frames that wait for the nodes of frame `waiting_for`; `nullopt`: those that wait for
/// later frames to begin.
StencilWindows::ReadyJobs StencilWindows::release(std::optional<std::uint64_t> waiting_for) {
  ReadyJobs ready;
  for (auto one = awaiting_.begin(); one != awaiting_.end();) {
    if (one->second->waits_for != waiting_for || !take_window(*one->second)) {
      ++one;
      continue;
    }
    ready.push_back(std::move(one->second));
    one = awaiting_.erase(one);
  }
  return ready;
}

/// Sets the job's window; false if it is not complete.
bool StencilWindows::take_window(FrameJob& job) const {
  if (!has_whole_window(job)) return false;
  job.window = window_of(job);
  return true;
}

/// If nodes of a frame are missing, sets `job.waits_for`.
bool StencilWindows::has_whole_window(FrameJob& job) const {
  const Stencil& stencil = *job.stencil();
  const Arrivals& arrivals = job.arrivals();
  job.waits_for.reset();
  if (!history_.reaches(job.ticket, stencil.ahead(), arrivals.bounds)) return false;
  if (!job.compiled_step().sees_results_of_others()) return true;
  for (const int offset : stencil.offsets) {
    const auto other = history_.at(job.ticket, offset, stencil.edge, arrivals.bounds);
    if (!other || arrivals.nodes.contains(*other)) continue;
    job.waits_for = other;
    return false;
  }
  return true;
}

/// The window must be complete.
StepWindow StencilWindows::window_of(const FrameJob& job) const {
  const CompiledStep& step = job.compiled_step();
  const Stencil& stencil = *job.stencil();
  const Arrivals& arrivals = job.arrivals();
  const bool has_results = step.sees_results_of_others();
  const bool has_nodes = has_results && step.needs.size == NodeDescription::Size::all;
  StepWindow window;
  window.frames.reserve(stencil.offsets.size());
  if (has_nodes) window.nodes.reserve(stencil.offsets.size());
  for (const int offset : stencil.offsets) {
    const auto other = history_.at(job.ticket, offset, stencil.edge, arrivals.bounds);
    if (offset == 0) window.present = window.frames.size();
    if (other) {
      window.frames.push_back(history_.frame(*other));
      if (has_results) window.frames.back().pictures = arrivals.nodes.at(*other)->pictures();
    } else {
      if (stencil.edge == StencilEdge::error) window.missing = offset;
      window.frames.push_back({.is_null = true});
    }
    if (has_nodes)
      window.nodes.push_back(other && offset != 0 ? arrivals.nodes.at(*other) : nullptr);
  }
  return window;
}

}  // namespace vcap
