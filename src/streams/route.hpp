// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sources/discontinuities.hpp"
#include "sources/rows.hpp"
#include "streams/compiled_plan.hpp"
#include "streams/frame_history.hpp"
#include "streams/quarantine.hpp"
#include "streams/state_keeper.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

struct FrameJob;

/// What one stream keeps for one capsule, and for the capsules that replace it and continue its
/// state.
struct CapsuleLane {
  CapsuleLane(StreamInfo info, bool apart) : states(std::move(info), apart) {}

  /// Lets frames through to a stateful capsule in the order of their tickets.
  struct Gate {
    std::optional<std::uint64_t> next{};  ///< absent until the first frame is begun
    std::map<std::uint64_t, std::unique_ptr<FrameJob>> parked{};
    OwedDiscontinuities owed{};  ///< only the frame that is inside uses it
  };

  /// Where frames of a stored stream wait to go to a capsule together.
  struct Gathering {
    std::size_t calls = 0;  ///< in progress
    std::map<std::uint64_t, std::unique_ptr<FrameJob>> waiting{};
  };

  StateKeeper states;
  Gathering gathering{};  ///< guarded by the stream's mutex
  Gate gate{};            ///< guarded by the stream's mutex
};

/// For one version of a capsule with a stencil that takes nodes: the nodes of the frames around a
/// frame. Guarded by the stream's mutex.
struct Arrivals {
  bool begun = false;
  FrameHistory::Bounds bounds{};  ///< the frames that reach this step
  /// The nodes of frames that have arrived, by ticket.
  std::map<std::uint64_t, std::shared_ptr<const DetectionNodes>> nodes{};
};

/// What a capsule with a stencil sees around a frame. Thread safety: value.
struct StepWindow {
  std::vector<Frame> frames{};           ///< by offset
  std::optional<std::size_t> present{};  ///< the place of the present frame among them
  /// Their nodes; null if a frame has none. Empty for a capsule that does not see them.
  std::vector<std::shared_ptr<const DetectionNodes>> nodes{};
  std::optional<int> missing{};  ///< an offset without a frame, if that is an error
};

/// How one version of a capsule has served one stream.
struct CapsuleHealth {
  explicit CapsuleHealth(const QuarantinePolicy& policy) : quarantine(policy) {}

  std::atomic<std::size_t> hung{0};  ///< calls that were given up and have not returned
  Quarantine quarantine;             ///< guarded by the stream's mutex
};

/// The steps of a stream's frames, from one frame until the next change. Thread safety: value;
/// read-only once a frame has it.
struct Route {
  struct Stop {
    std::shared_ptr<CapsuleLane> lane;
    std::shared_ptr<CapsuleHealth> health;
    std::shared_ptr<Arrivals> arrivals;
    std::uint64_t state_number = 0;  ///< for a stateful capsule: StateKeeper::open()
    /// The slice's rows that the capsule is called for; null: all frames.
    const Rows* called = nullptr;
  };
  std::shared_ptr<const CompiledPlan> compiled_plan;
  std::vector<Stop> stops;  ///< by step
  StepOptions options;      ///< by step
  std::size_t run = 0;      ///< number of the slice's run
};

/// A frame that is being processed.
struct FrameJob {
  std::uint64_t ticket = 0;  ///< its number among the stream's frames that have begun
  std::size_t step = 0;      ///< the next step of the plan
  FrameRecord record{};
  Discontinuities discontinuities{};  ///< its own, and those of frames dropped before it
  std::shared_ptr<const Route> route{};
  std::chrono::steady_clock::time_point read_at{};
  std::uint64_t trace_frame = 0;  ///< StreamTrace::read()
  bool left_out = false;          ///< the capsule was not called
  bool alone = false;  ///< the capsule is called for this frame by itself, not together with others
  bool holds_call = false;                  ///< it counts in CapsuleLane::Gathering::calls
  bool leads = false;                       ///< it is to take the frames that wait there with it
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
    return compiled_step().sees_nodes_of_others() && !record.frame.is_null && arrived_at != step;
  }
  bool lacks_window() const { return stencil() && is_for_capsule() && !window; }
  bool is_at_gate() const { return compiled_step().slot->stateful; }
  bool has_passed_all() const noexcept { return step == route->compiled_plan->size(); }
};

}  // namespace vcap
