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

/// What one frame needs from one capsule. That is one call with all nodes or none, or one call for
/// each of its nodes, in rounds (SingleNodes).
///
/// Several workers can share the calls. The worker that ends the last call continues with the
/// frame, so no worker waits for another. What a capsule throws becomes an error of the record, and
/// the nodes stay unchanged. A run that takes too long can be given up: the frame goes on without
/// it, and results of calls that return later are dropped. Thread safety: thread-safe.
class StepRun {
 public:
  /// A call in progress.
  struct Call {
    std::size_t number = 0;
    std::uint64_t worker = 0;  ///< WorkPool::current()
    pid_t thread = 0;          ///< the system's thread id
    std::chrono::steady_clock::time_point since{};
  };
  enum class Help {
    nothing,   ///< other calls are still in progress, or no call is left
    finished,  ///< the round's last call ended here: next_round() or take_job() must follow
    too_late   ///< the call returned after the run was given up
  };
  /// The rest of a run that was given up: the job, null if the run had ended, and the calls that
  /// may still return.
  struct GivenUp {
    std::unique_ptr<FrameJob> job{};
    std::vector<Call> calls{};
  };

  /// Takes the job for its next step. `discontinuity` is what the capsule sees, `state` is for a
  /// stateful capsule, `window` for one with a stencil. Null if there is no call to make; the
  /// caller then keeps the job, and its record may have an error.
  static std::shared_ptr<StepRun> begin(std::unique_ptr<FrameJob>& job, Discontinuity discontinuity,
                                        StreamHandle state, std::optional<StepWindow> window);

  std::size_t calls() const noexcept { return calls_; }
  /// Makes calls until no call is left to begin.
  Help help();
  /// Stores the round's results and begins the next round; false if there is no further round.
  bool next_round();
  /// The job, with the results and errors in its record; null if the run was given up.
  std::unique_ptr<FrameJob> take_job();
  /// Gives up the run, with an error in the frame's record.
  GivenUp give_up(std::chrono::nanoseconds limit);

  const std::shared_ptr<const Route>& route() const noexcept { return route_; }
  std::size_t step() const noexcept { return step_; }
  const Frame& frame() const noexcept { return frame_; }
  const std::string& stream_id() const noexcept { return stream_id_; }

  /// Sets the watch, which ends with the run.
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

  const std::shared_ptr<const Route> route_;  ///< also used by late calls
  const std::size_t step_;
  const std::string stream_id_;
  const StreamHandle state_;          ///< null for a stateless capsule
  std::optional<StepWindow> window_;  ///< absent without a stencil; read-only in calls
  const std::uint64_t trace_frame_;
  Frame frame_;

  std::mutex mutex_;
  std::unique_ptr<FrameJob> job_;  ///< null once taken or given up
  Nodes nodes_;                    ///< points into the job's record
  /// By the only call, if the capsule does not take single nodes.
  std::vector<DetectionNode> returned_{};
  std::size_t round_ = 0;
  std::atomic<std::size_t> calls_{1};
  std::size_t begun_ = 0;
  std::size_t unfinished_ = 1;
  std::optional<std::chrono::nanoseconds> overdue_{};  ///< the limit, if it ran out between rounds
  std::vector<std::optional<FrameRecord::CapsuleError>> errors_{};  ///< by call of the round
  std::vector<Call> in_progress_{};
  Watchdog::Watch watch_{};
};

}  // namespace vcap
