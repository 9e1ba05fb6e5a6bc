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

#include "capsule/output_report.hpp"
#include "records/node_tree.hpp"
#include "streams/frame_job.hpp"

namespace vcap {

/// What the calls of one step need besides the nodes. Borrows what it points to. Thread safety:
/// thread-safe once it is made.
struct StepContext {
  /// What one call gave, or why it failed.
  struct Result {
    // Implicit, as for a variant.
    Result(std::vector<DetectionNode> nodes = {}, detail::OutputReport report = {},  // NOLINT
           Pictures given = {})
        : outcome(std::move(nodes)), output(std::move(report)), pictures(std::move(given)) {}
    Result(FrameRecord::CapsuleError error) : outcome(std::move(error)) {}  // NOLINT

    std::variant<std::vector<DetectionNode>, FrameRecord::CapsuleError> outcome;
    detail::OutputReport output{};  ///< about the nodes and pictures
    Pictures pictures{};
  };

  const Route* route = nullptr;
  std::size_t number = 0;  ///< of the step
  const std::string* stream_id = nullptr;
  const Frame* frame = nullptr;  ///< with the discontinuity that the capsule sees
  std::uint64_t trace_frame = 0;
  StreamHandle state{};                ///< null for a capsule without states and parameters
  std::optional<StepWindow> window{};  ///< absent without a stencil

  const CompiledStep& step() const { return (*route->compiled_plan)[number]; }
  const Route::Stop& stop() const { return route->stops[number]; }

  /// Calls the capsule, and counts the call. What the capsule throws becomes an error.
  Result call(DetectionNodes nodes) const;

 private:
  DetectionNodes call_on_window(DetectionNodes nodes, StreamRef stream) const;
};

/// The nodes that Backend::process_window gets: those of the window, and `present` at the place of
/// the present frame. Thread-safe.
std::vector<DetectionNodes> nodes_of_window(const StepWindow& window, DetectionNodes present);

/// The calls that one frame needs from one capsule: one call with all nodes or none, or one call
/// for each of its nodes, in rounds (SingleNodes).
///
/// A passive machine. Results change the record only in next_round() and finish(). A call that
/// fails leaves its nodes unchanged. If the results of a round would make the record larger than
/// the capsule's OutputPolicy allows, all of them are dropped, so that the order of calls has no
/// effect. Thread safety: thread-compatible.
class StepCalls {
 public:
  using CapsuleError = FrameRecord::CapsuleError;

  /// For the job's next step. `nullopt` if there is no call to make; the record may have an error.
  /// The job and its plan must outlive this.
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
  /// Makes the only call (is_one_call) and stores its result, in place of all of the above.
  void run_only_call(const StepContext& context, FrameRecord& record);

 private:
  using Nodes = std::variant<std::monostate, TakenNodes, SingleNodes>;

  StepCalls(FrameJob& job, Nodes nodes);
  void begin_round() noexcept;
  void note_output(std::size_t call, detail::OutputReport output);
  bool is_beyond(const detail::NodesSize& size) const noexcept;
  std::string bounds_text() const;
  void drop_results(const std::string& why);
  void fit_results(const FrameRecord& record);
  std::vector<const DetectionNode*> replaced() const;
  void store_errors(FrameRecord& record);

  const std::string* capsule_;     ///< its name; the plan's
  const OutputPolicy* outputs_;    ///< the plan's
  detail::NodesSize* size_bound_;  ///< the job's
  Nodes nodes_;                    ///< points into the job's record
  std::size_t round_ = 0;
  std::size_t calls_ = 1;
  std::size_t begun_ = 0;
  std::size_t unfinished_ = 1;
  /// By the only call, if the capsule does not take single nodes.
  std::vector<DetectionNode> returned_{};
  Pictures pictures_{};       ///< likewise
  bool keeps_nodes_ = false;  ///< the capsule gives only pictures
  /// By the calls of this round. Of single nodes, the levels are those in the record.
  detail::NodesSize given_{};
  bool is_dropped_ = false;                                       ///< the round's results
  std::vector<std::pair<std::size_t, CapsuleError>> errors_{};    ///< of this round, by call
  std::vector<std::pair<std::size_t, CapsuleError>> warnings_{};  ///< likewise
};

/// What a capsule sees of a frame's pictures: those that it takes.
Pictures taken_pictures(const CompiledStep& step, const Pictures& pictures);

/// The name of a picture that the job's next step takes and the frame lacks, or has in another type
/// or size (InvalidOutput::warn); null if there is none.
const std::string* missing_picture(const FrameJob& job) noexcept;

/// The exception that is being handled, as an error of the record.
FrameRecord::CapsuleError current_capsule_error(const std::string& capsule);

}  // namespace vcap
