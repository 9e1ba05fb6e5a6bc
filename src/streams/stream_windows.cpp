// SPDX-License-Identifier: Apache-2.0
// How frames get their windows, for capsules with a stencil.
#include <algorithm>
#include <utility>

#include "base/adaptive_lock.hpp"
#include "records/node_tree.hpp"
#include "streams/stream.hpp"

namespace vcap {
namespace {

/// All nodes of a frame that a capsule takes. Empty if they do not fit its input type; that frame's
/// own record has the error.
std::shared_ptr<const DetectionNodes> nodes_for(const CompiledStep& step, FrameRecord& record) {
  try {
    return std::make_shared<DetectionNodes>(TakenNodes(record.objects, step.needs).copy());
  } catch (...) {
    return std::make_shared<DetectionNodes>(DetectionNodes::all());
  }
}

}  // namespace

/// Requires `mutex_`. Extends the reach of the stream's windows to those of the plan.
void Stream::look_around(const CompiledPlan& compiled_plan) {
  std::int64_t ahead = 0;
  for (const CompiledStep& step : compiled_plan) {
    if (!step.stencil()) continue;
    ahead += step.stencil()->ahead();
    look_back_ =
        std::max(look_back_.value_or(0), static_cast<std::uint64_t>(step.stencil()->back()));
  }
  look_ahead_ = std::max(look_ahead_, static_cast<std::size_t>(ahead));
}

/// Requires `mutex_`. Called for a frame that begins.
void Stream::begin_windows(const FrameJob& job) {
  const bool begins_run = last_begun_ && last_begun_->run != job.route->run;
  history_.begin(job.ticket, job.record.frame, begins_run || !job.discontinuities.empty());
  const std::uint64_t oldest = next_delivery_ - std::min(next_delivery_, *look_back_);
  history_.forget_before(oldest);
  const bool changes = last_begun_ && last_begun_ != job.route;
  if (changes)
    for (const Route::Stop& stop : last_begun_->stops) {
      const bool goes_on = std::ranges::any_of(
          job.route->stops, [&](const Route::Stop& one) { return one.arrivals == stop.arrivals; });
      if (!goes_on && stop.arrivals->begun) stop.arrivals->bounds.end = job.ticket;
    }
  for (std::size_t i = 0; i < job.route->stops.size(); ++i) {
    const CompiledStep& step = (*job.route->compiled_plan)[i];
    if (!step.sees_nodes_of_others()) continue;
    Arrivals& arrivals = *job.route->stops[i].arrivals;
    if (!std::exchange(arrivals.begun, true)) arrivals.bounds.first = job.ticket;
    arrivals.nodes.erase(arrivals.nodes.begin(), arrivals.nodes.lower_bound(oldest));
  }
  last_begun_ = job.route;
  if (changes)
    release_windows();
  else
    release_windows(std::nullopt);
  end_windows_if_last();
}

/// Requires `mutex_`. If no frame will follow, windows no longer wait for later frames.
void Stream::end_windows_if_last() {
  if (!source_done_ || !pending_.empty()) return;
  history_.end();
  release_windows();
}

/// Requires `mutex_`. Checks all waiting frames, and releases those whose windows are complete now.
void Stream::release_windows() {
  for (auto& [ticket, job] : awaiting_) job->waits_for.reset();
  release_windows(std::nullopt);
}

/// The same, but only for frames that wait for the nodes of frame `waiting_for`; `nullopt`: for
/// frames that wait for later frames to begin.
void Stream::release_windows(std::optional<std::uint64_t> waiting_for) {
  for (auto one = awaiting_.begin(); one != awaiting_.end();) {
    if (one->second->waits_for != waiting_for || !take_window(*one->second)) {
      ++one;
      continue;
    }
    work_.emplace_back(std::move(one->second));
    ++released_;
    one = awaiting_.erase(one);
  }
}

/// Posts the released frames. Requires `mutex_`; temporarily releases it.
void Stream::post_released(std::unique_lock<std::mutex>& lock) {
  const std::size_t released = std::exchange(released_, 0);
  if (released == 0) return;
  lock.unlock();
  for (std::size_t i = 0; i < released; ++i) services_.pool.post(shared_from_this());
  lock = adaptive_lock(mutex_);
}

/// Stores the frame's nodes for the windows of other frames. Returns the frame if its own window is
/// complete, or else another frame that can continue, or null.
std::unique_ptr<FrameJob> Stream::await_window(std::unique_ptr<FrameJob> job) {
  std::shared_ptr<const DetectionNodes> nodes;
  if (job->hands_in_nodes()) nodes = nodes_for(job->compiled_step(), job->record);
  std::unique_lock lock = adaptive_lock(mutex_);
  if (nodes) {
    job->arrivals().nodes.emplace(job->ticket, std::move(nodes));
    job->arrived_at = job->step;
    release_windows(job->ticket);
  }
  job = with_window(std::move(job));
  post_released(lock);
  return job;
}

/// Requires `mutex_`. Returns the frame if its window is complete. Otherwise parks it until another
/// frame completes the window, and returns another frame that can continue, or null.
std::unique_ptr<FrameJob> Stream::with_window(std::unique_ptr<FrameJob> job) {
  if (!job->lacks_window() || take_window(*job)) return job;
  const std::uint64_t ticket = job->ticket;
  awaiting_.emplace(ticket, std::move(job));
  return take_released();
}

/// Requires `mutex_`. Takes a released frame that is not yet posted, if it is first in line; null
/// otherwise.
std::unique_ptr<FrameJob> Stream::take_released() {
  if (released_ == 0 || work_.empty()) return nullptr;  // another worker may have taken it
  auto* const first = std::get_if<std::unique_ptr<FrameJob>>(&work_.front());
  if (!first) return nullptr;
  std::unique_ptr<FrameJob> job = std::move(*first);
  work_.pop_front();
  --released_;
  return job;
}

/// Requires `mutex_`. Sets the job's window; false if it is not complete.
bool Stream::take_window(FrameJob& job) const {
  if (!has_whole_window(job)) return false;
  job.window = window_of(job);
  return true;
}

/// Requires `mutex_`. If nodes of a frame are missing, sets `job.waits_for`.
bool Stream::has_whole_window(FrameJob& job) const {
  const Stencil& stencil = *job.stencil();
  const Arrivals& arrivals = job.arrivals();
  job.waits_for.reset();
  if (!history_.reaches(job.ticket, stencil.ahead(), arrivals.bounds)) return false;
  if (!job.compiled_step().sees_nodes_of_others()) return true;
  for (const int offset : stencil.offsets) {
    const auto other = history_.at(job.ticket, offset, stencil.edge, arrivals.bounds);
    if (!other || arrivals.nodes.contains(*other)) continue;
    job.waits_for = other;
    return false;
  }
  return true;
}

/// Requires `mutex_`, and a complete window.
StepWindow Stream::window_of(const FrameJob& job) const {
  const CompiledStep& step = job.compiled_step();
  const Stencil& stencil = *job.stencil();
  const Arrivals& arrivals = job.arrivals();
  const bool has_nodes = step.sees_nodes_of_others();
  StepWindow window;
  window.frames.reserve(stencil.offsets.size());
  if (has_nodes) window.nodes.reserve(stencil.offsets.size());
  for (const int offset : stencil.offsets) {
    const auto other = history_.at(job.ticket, offset, stencil.edge, arrivals.bounds);
    if (offset == 0) window.present = window.frames.size();
    if (other) {
      window.frames.push_back(history_.frame(*other));
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
