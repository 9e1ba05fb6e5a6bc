// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sources/discontinuities.hpp"
#include "sources/rows.hpp"
#include "streams/call_places.hpp"
#include "streams/compiled_plan.hpp"
#include "streams/frame_batches.hpp"
#include "streams/quarantine.hpp"
#include "streams/state_keeper.hpp"
#include "streams/stateful_gate.hpp"
#include "streams/stencil_windows.hpp"

namespace vcap {

/// What one stream keeps for one capsule, and for the capsules that replace it and continue its
/// state. Machines are guarded by the stream's mutex.
struct CapsuleLane {
  CapsuleLane(StreamInfo info, bool apart, const BatchSizes& batch, std::size_t backends)
      : states(std::move(info), apart), batches(batch, backends) {}

  StateKeeper states;
  FrameBatches batches;
  StatefulGate gate{};
  OwedDiscontinuities owed{};  ///< used only by the frame that is inside the gate
};

struct ParkedCalls;

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
    std::shared_ptr<ParkedCalls> parked{};
    StreamHandle parameters{};  ///< of a capsule with CapsuleInfo::stream_parameters; else null
    std::uint64_t state_number = 0;  ///< for a stateful capsule: StateKeeper::open()
    /// What Pipeline::set_config() gave the stream last; null: the config that it began with.
    std::shared_ptr<const JsonValue> config{};
    /// Whether frames may wait for each other, so that the capsule gets them in one call.
    bool gathers = false;
    /// The slice's rows that the capsule is called for; null: all frames.
    const Rows* called = nullptr;
    /// The capsule is not called, since the frames have its results (RecordedFrames).
    bool stands_in = false;
  };
  std::shared_ptr<const CompiledPlan> compiled_plan;
  std::vector<Stop> stops;  ///< by step
  StepOptions options;      ///< by step
  std::size_t run = 0;      ///< number of the slice's run
  /// How many changes of options it has: RouteChanges::change_option().
  std::uint64_t option_changes = 0;
};

}  // namespace vcap
