// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "records/node_tree.hpp"
#include "streams/frame_job.hpp"

namespace vcap {

/// What the calls of one step need besides the nodes. Thread safety: value; call() is thread-safe.
class StepContext {
 public:
  using Result = std::variant<std::vector<DetectionNode>, FrameRecord::CapsuleError>;

  /// For the job's next step. `discontinuity` is what the capsule sees, `state` is for a stateful
  /// capsule.
  StepContext(FrameJob& job, Discontinuity discontinuity, StreamHandle state);

  const CompiledStep& step() const { return (*route_->compiled_plan)[step_]; }
  const Route::Stop& stop() const { return route_->stops[step_]; }
  std::size_t number() const noexcept { return step_; }
  std::size_t steps() const noexcept { return route_->compiled_plan->size(); }
  const std::string& stream_id() const noexcept { return stream_id_; }
  const Frame& frame() const noexcept { return frame_; }

  /// Calls the capsule, and counts the call. What the capsule throws becomes an error.
  Result call(DetectionNodes nodes) const;

 private:
  DetectionNodes call_on_window(DetectionNodes nodes, StreamRef stream) const;

  std::shared_ptr<const Route> route_;  ///< also used by calls that were given up
  std::size_t step_;
  std::string stream_id_;
  StreamHandle state_;                ///< null for a stateless capsule
  std::optional<StepWindow> window_;  ///< absent without a stencil
  std::uint64_t trace_frame_;
  Frame frame_;
};

/// The calls that one frame needs from one capsule: one call with all nodes or none, or one call
/// for each of its nodes, in rounds (SingleNodes).
///
/// A passive machine. Results change the record only in next_round() and finish(). A call that
/// fails leaves its nodes unchanged. Thread safety: thread-compatible.
class StepCalls {
 public:
  using CapsuleError = FrameRecord::CapsuleError;

  /// For the job's next step. `nullopt` if there is no call to make; the record may have an error.
  /// The job's record must outlive this.
  static std::optional<StepCalls> begin(FrameJob& job);

  /// Calls of this round.
  std::size_t calls() const noexcept { return calls_; }
  /// Whether there is only one call in all.
  bool is_one_call() const noexcept;
  /// The number of the next call of this round; `nullopt` if none is left to begin.
  std::optional<std::size_t> begin_call() noexcept;
  /// A copy of the nodes for that call.
  DetectionNodes nodes(std::size_t call) const;
  /// True if that was the last call of the round; next_round() must follow.
  bool end_call(std::size_t call, StepContext::Result result);
  /// Stores the results of the round in the record and begins the next round; false if there is
  /// none. finish() must then follow.
  bool next_round(FrameRecord& record);
  /// Stores the results that are left.
  void finish(FrameRecord& record);

 private:
  using Nodes = std::variant<std::monostate, TakenNodes, SingleNodes>;

  StepCalls(std::string capsule, Nodes nodes);
  void begin_round() noexcept;
  void store_errors(FrameRecord& record);

  std::string capsule_;
  Nodes nodes_;  ///< points into the job's record
  std::size_t round_ = 0;
  std::size_t calls_ = 1;
  std::size_t begun_ = 0;
  std::size_t unfinished_ = 1;
  /// By the only call, if the capsule does not take single nodes.
  std::vector<DetectionNode> returned_{};
  std::vector<std::pair<std::size_t, CapsuleError>> errors_{};  ///< of this round, by call
};

/// Makes the only call (StepCalls::is_one_call) and stores its result in the record.
void run_alone(StepCalls& calls, const StepContext& context, FrameRecord& record);

/// The exception that is being handled, as an error of the record.
FrameRecord::CapsuleError current_capsule_error(const std::string& capsule);

}  // namespace vcap
