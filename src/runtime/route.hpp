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

#include "runtime/program.hpp"
#include "runtime/quarantine.hpp"
#include "runtime/state_keeper.hpp"
#include "vcap/runtime/frame_record.hpp"

namespace vcap {

struct FrameJob;

/// What one stream keeps for one capsule and for those that replace it.
struct Station {
  Station(StreamInfo info, const QuarantinePolicy& policy)
      : states(std::move(info)), quarantine(policy) {}

  /// Where a stateful capsule lets frames through in the order of their tickets.
  struct Gate {
    std::optional<std::uint64_t> next{};  ///< absent until the first frame is begun
    std::map<std::uint64_t, std::unique_ptr<FrameJob>> parked{};
    /// A discontinuity that the capsule has not seen, since it was not called on that frame.
    /// Touched only by the one frame that is inside.
    Discontinuity owed = Discontinuity::none;
  };

  StateKeeper states;
  std::atomic<std::size_t> hung{0};  ///< calls that were given up and have not come back
  // The rest is guarded by the stream's mutex.
  Gate gate{};
  Quarantine quarantine;
};

/// What a stream's frames go through, from one frame on until a change. Thread safety: value;
/// read-only once a frame has it.
struct Route {
  struct Stop {
    std::shared_ptr<Station> station;
    std::uint64_t state_number = 0;  ///< of a stateful capsule: StateKeeper::open()
  };
  std::shared_ptr<const Program> program;
  std::vector<Stop> stops;  ///< by step
  StepOptions options;      ///< by step
};

/// A frame on its way.
struct FrameJob {
  std::uint64_t ticket = 0;  ///< its place among the stream's frames that were begun
  std::size_t step = 0;      ///< the next step of the program
  FrameRecord record{};
  std::shared_ptr<const Route> route{};
  std::chrono::steady_clock::time_point read_at{};
  std::uint64_t trace_frame = 0;  ///< StreamTrace::read()
  bool left_out = false;          ///< the step was not to be run

  const ProgramStep& program_step() const { return (*route->program)[step]; }
  Station& station() const { return *route->stops[step].station; }
  bool is_at_gate() const { return program_step().slot->stateful; }
  bool has_passed_all() const noexcept { return step == route->program->size(); }
};

}  // namespace vcap
