// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "records/node_tree.hpp"
#include "streams/route.hpp"
#include "workers/watchdog.hpp"

namespace vcap {

/// What one frame asks of one capsule: one call with no node or all nodes, or one call for each of
/// its nodes, in rounds (SingleNodes).
///
/// Calls are shared out among whoever helps. The last one to finish a call goes on with the frame,
/// so nobody waits for anybody. What a capsule throws becomes an error of the record, and the nodes
/// stay as they were. A run that takes too long can be given up: the frame then goes on without it,
/// and calls that come back later find nobody. Thread safety: thread-safe.
class StepRun {
 public:
  /// A call in progress.
  struct Call {
    std::size_t number = 0;
    std::uint64_t worker = 0;  ///< WorkPool::current()
    pid_t thread = 0;          ///< as the system numbers it
    std::chrono::steady_clock::time_point since{};
  };
  enum class Help {
    nothing,   ///< others are at work still, or nothing is left to do
    finished,  ///< the round's last call was made here: next_round() or take_job() follow
    too_late   ///< the call came back after the run was given up
  };
  /// What is left of a run that was given up: the job, null where it had ended, and the calls that
  /// may still come back.
  struct GivenUp {
    std::unique_ptr<FrameJob> job{};
    std::vector<Call> calls{};
  };

  /// Takes the job for its next step. `discontinuity` is what the capsule sees, `state` what it
  /// works on, where it is stateful, `window` what it is shown, where it has a stencil. Nothing
  /// where there is no call to make, and then the job stays (an error may have been noted).
  static std::shared_ptr<StepRun> begin(std::unique_ptr<FrameJob>& job, Discontinuity discontinuity,
                                        StreamHandle state, std::optional<StepWindow> window);

  std::size_t calls() const noexcept { return calls_; }
  /// Makes calls until none is left to begin.
  Help help();
  /// Puts the round's results in place; false after the last round.
  bool next_round();
  /// The job, with the results and errors in its record; null where the run was given up.
  std::unique_ptr<FrameJob> take_job();
  /// Lets go of the frame, with an error in its record.
  GivenUp give_up(std::chrono::nanoseconds limit);

  const std::shared_ptr<const Route>& route() const noexcept { return route_; }
  std::size_t step() const noexcept { return step_; }
  const Frame& frame() const noexcept { return frame_; }
  const std::string& stream_id() const noexcept { return stream_id_; }

  /// Ended with the run.
  void set_watch(Watchdog::Watch watch);

 private:
  using Nodes = std::variant<std::monostate, TakenNodes, SingleNodes>;

  StepRun(std::unique_ptr<FrameJob> job, Nodes nodes, Discontinuity discontinuity,
          StreamHandle state, std::optional<StepWindow> window);
  std::vector<DetectionNode> call(DetectionNodes nodes) const;
  DetectionNodes call_on_window(Capsule& capsule, DetectionNodes nodes, StreamRef stream) const;
  std::optional<Call> begin_call(std::optional<DetectionNodes>& nodes);
  Help end_call(const Call& call, std::vector<DetectionNode> returned,
                std::optional<FrameRecord::CapsuleError> error);
  void note_overdue();
  void begin_round();

  const std::shared_ptr<const Route> route_;  ///< what late calls still work on
  const std::size_t step_;
  const std::string stream_id_;
  const StreamHandle state_;          ///< null for a stateless capsule
  std::optional<StepWindow> window_;  ///< absent without a stencil; read-only in calls
  const std::uint64_t trace_frame_;
  Frame frame_;

  std::mutex mutex_;
  std::unique_ptr<FrameJob> job_;          ///< null once it was taken or given up
  Nodes nodes_;                            ///< points into the job's record
  std::vector<DetectionNode> returned_{};  ///< by the one call of a step that is not single
  std::size_t round_ = 0;
  std::atomic<std::size_t> calls_{1};
  std::size_t begun_ = 0;
  std::size_t unfinished_ = 1;
  std::optional<std::chrono::nanoseconds>
      overdue_{};  ///< the limit, where it ran out between rounds
  std::vector<std::optional<FrameRecord::CapsuleError>> errors_{};  ///< by call of the round
  std::vector<Call> in_progress_{};
  Watchdog::Watch watch_{};
};

}  // namespace vcap
