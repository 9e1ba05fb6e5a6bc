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
#include "streams/frame_history.hpp"
#include "streams/program.hpp"
#include "streams/quarantine.hpp"
#include "streams/state_keeper.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

struct FrameJob;

/// What one stream keeps for one capsule and for those that go on with its state.
struct Station {
  Station(StreamInfo info, bool apart) : states(std::move(info), apart) {}

  /// Where a stateful capsule lets frames through in the order of their tickets.
  struct Gate {
    std::optional<std::uint64_t> next{};  ///< absent until the first frame is begun
    std::map<std::uint64_t, std::unique_ptr<FrameJob>> parked{};
    OwedDiscontinuities owed{};  ///< touched only by the one frame that is inside
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

/// Where one version of a capsule with a stencil that takes nodes finds those of the frames around
/// one. Guarded by the stream's mutex.
struct Arrivals {
  bool begun = false;
  FrameHistory::Bounds bounds{};  ///< the frames that come here
  /// Of those that have come, by ticket.
  std::map<std::uint64_t, std::shared_ptr<const DetectionNodes>> nodes{};
};

/// What a capsule with a stencil is shown around a frame. Thread safety: value.
struct StepWindow {
  std::vector<Frame> frames{};           ///< by offset
  std::optional<std::size_t> present{};  ///< which of them is the present one
  /// Theirs, null where there are none; empty for a capsule that does not see them.
  std::vector<std::shared_ptr<const DetectionNodes>> nodes{};
  std::optional<int> missing{};  ///< an offset where no frame is, and where that is an error
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
    std::shared_ptr<Arrivals> arrivals;
    std::uint64_t state_number = 0;  ///< of a stateful capsule: StateKeeper::open()
    const Rows* called = nullptr;    ///< the slice's; null: for all frames
  };
  std::shared_ptr<const Program> program;
  std::vector<Stop> stops;  ///< by step
  StepOptions options;      ///< by step
  std::size_t run = 0;      ///< of a slice
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
  bool left_out = false;          ///< the capsule was not to be called
  bool alone = false;       ///< the step takes it by itself, since it failed together with others
  bool holds_call = false;  ///< of Station::Gathering
  bool leads = false;       ///< those that wait there count on it to take them along
  std::optional<std::size_t> arrived_at{};  ///< the step whose Arrivals have its nodes
  /// The frame whose nodes its window waits for; absent: frames that have not begun.
  std::optional<std::uint64_t> waits_for{};
  std::optional<StepWindow> window{};  ///< the step's, once it is whole

  const ProgramStep& program_step() const { return (*route->program)[step]; }
  Station& station() const { return *route->stops[step].station; }
  Arrivals& arrivals() const { return *route->stops[step].arrivals; }
  Conduct& conduct() const { return *route->stops[step].conduct; }
  const std::optional<Stencil>& stencil() const { return program_step().stencil(); }
  /// Whether the step is for this frame: not where a slice reads it only for other capsules.
  bool is_in_step() const {
    const Rows* called = route->stops[step].called;
    return !called || called->contains(record.frame.index);
  }
  bool is_for_capsule() const { return !record.frame.is_null && is_in_step(); }
  /// Whether the step's windows wait for this frame's nodes, as they come to it.
  bool hands_in_nodes() const {
    return program_step().sees_nodes_of_others() && !record.frame.is_null && arrived_at != step;
  }
  bool lacks_window() const { return stencil() && is_for_capsule() && !window; }
  bool is_at_gate() const { return program_step().slot->stateful; }
  bool has_passed_all() const noexcept { return step == route->program->size(); }
};

}  // namespace vcap
