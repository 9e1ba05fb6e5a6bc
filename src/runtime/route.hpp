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

#include "runtime/discontinuities.hpp"
#include "runtime/program.hpp"
#include "runtime/quarantine.hpp"
#include "runtime/state_keeper.hpp"
#include "vcap/runtime/frame_record.hpp"

namespace vcap {

struct FrameJob;

/// What one stream keeps for one capsule and for those that go on with its state.
struct Station {
  explicit Station(StreamInfo info) : states(std::move(info)) {}

  /// Where a stateful capsule lets frames through in the order of their tickets.
  struct Gate {
    std::optional<std::uint64_t> next{};  ///< absent until the first frame is begun
    std::map<std::uint64_t, std::unique_ptr<FrameJob>> parked{};
    /// Those that the capsule has not seen, since it was not called on their frames. Touched only
    /// by the one frame that is inside.
    Discontinuities owed{};
  };

  StateKeeper states;
  Gate gate{};  ///< guarded by the stream's mutex
};

/// How one version of a capsule has served one stream.
struct Conduct {
  explicit Conduct(const QuarantinePolicy& policy) : quarantine(policy) {}

  std::atomic<std::size_t> hung{0};  ///< calls that were given up and have not come back
  Quarantine quarantine;             ///< guarded by the stream's mutex
};

/// What a stream's frames go through, from one frame on until a change. Thread safety: value;
/// read-only once a frame has it.
struct Route {
  struct Stop {
    std::shared_ptr<Station> station;
    std::shared_ptr<Conduct> conduct;
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
  Discontinuities discontinuities{};  ///< the record's, and what it stands for
  std::shared_ptr<const Route> route{};
  std::chrono::steady_clock::time_point read_at{};
  std::uint64_t trace_frame = 0;  ///< StreamTrace::read()
  bool left_out = false;          ///< the step was not to be run

  const ProgramStep& program_step() const { return (*route->program)[step]; }
  Station& station() const { return *route->stops[step].station; }
  Conduct& conduct() const { return *route->stops[step].conduct; }
  bool is_at_gate() const { return program_step().slot->stateful; }
  bool has_passed_all() const noexcept { return step == route->program->size(); }
};

}  // namespace vcap
