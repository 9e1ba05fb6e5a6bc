// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "capsule/output_check.hpp"
#include "sources/discontinuities.hpp"
#include "streams/route.hpp"
#include "vcap/records/frame_record.hpp"
#include "vcap/records/recorded_frames.hpp"

namespace vcap {

/// What a capsule with a stencil sees around a frame. Thread safety: value.
struct StepWindow {
  std::vector<Frame> frames{};           ///< by offset
  std::optional<std::size_t> present{};  ///< the place of the present frame among them
  /// Their nodes; null if a frame has none. Empty for a capsule that does not see them.
  std::vector<std::shared_ptr<const DetectionNodes>> nodes{};
  std::optional<int> missing{};  ///< an offset without a frame, if that is an error
};

/// A frame that is being processed.
struct FrameJob {
  std::uint64_t ticket = 0;  ///< its number among the stream's frames that have begun
  std::size_t step = 0;      ///< the next step of the plan
  FrameRecord record{};
  /// An upper bound of the nodes in the record, which is cheaper than their size.
  detail::NodesSize size_bound{};
  Discontinuities discontinuities{};  ///< its own, and those of frames dropped before it
  std::shared_ptr<const Route> route{};
  std::chrono::steady_clock::time_point read_at{};
  std::uint64_t trace_frame = 0;  ///< StreamTrace::read()
  bool left_out = false;          ///< the capsule was not called
  bool alone = false;  ///< the capsule is called for this frame by itself, not together with others
  bool inside_gate = false;                 ///< StatefulGate::leave() must follow its step
  bool holds_call = false;                  ///< FrameBatches::end_call() must follow its step
  bool holds_place = false;                 ///< CallPlaces::leave() must follow its step
  bool has_options = false;                 ///< its options are fixed: RouteChanges::begin()
  std::optional<std::size_t> arrived_at{};  ///< the step whose Arrivals have its nodes
  /// The frame whose nodes its window waits for; absent: it waits for later frames to begin.
  std::optional<std::uint64_t> waits_for{};
  std::optional<StepWindow> window{};  ///< the step's window, once it is complete

  const CompiledStep& compiled_step() const { return (*route->compiled_plan)[step]; }
  CapsuleLane& lane() const { return *route->stops[step].lane; }
  Arrivals& arrivals() const { return *route->stops[step].arrivals; }
  CapsuleHealth& health() const { return *route->stops[step].health; }
  const std::optional<Stencil>& stencil() const { return compiled_step().stencil(); }
  /// Whether the step is for this frame. False if a slice reads the frame only for other capsules.
  bool is_in_step() const {
    const Rows* called = route->stops[step].called;
    return !called || called->contains(record.frame.index);
  }
  bool is_for_capsule() const { return !record.frame.is_null && is_in_step(); }
  /// Whether the frame has to store its nodes for the windows of this step.
  bool hands_in_nodes() const {
    return compiled_step().sees_results_of_others() && !record.frame.is_null && arrived_at != step;
  }
  bool lacks_window() const { return stencil() && is_for_capsule() && !window; }
  /// Whether the frame may wait for others, so that the capsule gets them in one call.
  bool may_gather() const {
    return route->stops[step].gathers && !alone && compiled_step().slot->has_process_frames;
  }
  bool is_at_gate() const { return compiled_step().slot->stateful; }
  bool has_passed_all() const noexcept { return step == route->compiled_plan->size(); }
};

/// Frames that can go on.
using ReadyJobs = std::vector<std::unique_ptr<FrameJob>>;

}  // namespace vcap
