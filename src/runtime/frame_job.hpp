// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/node_tree.hpp"
#include "runtime/program.hpp"
#include "vcap/runtime/frame_record.hpp"

namespace vcap {

/// A frame on its way through the program.
struct FrameJob {
  std::uint64_t ticket = 0;  ///< its place among the stream's frames that were begun
  std::size_t step = 0;      ///< the next step of the program
  FrameRecord record{};
  std::shared_ptr<const StepOptions> options{};
};

/// Runs a step that takes no node or all nodes: one call. What the capsule throws becomes an
/// error of the record, and the nodes stay as they were.
/// `frame` is what the capsule sees: the record's, but for a discontinuity that is owed. Gives
/// whether there was a call.
bool run_whole_step(const ProgramStep& step, FrameJob& job, const Frame& frame);

/// Runs a stateful step that takes single nodes: one call after the other. Gives whether there
/// was a call.
bool run_single_step_in_turn(const ProgramStep& step, FrameJob& job, const Frame& frame);

/// A stateless step that takes single nodes: the calls of one round of one frame, shared out
/// among whoever helps. The last one to finish a call gets the job back and goes on with it, so
/// nobody waits for anybody. Thread safety: thread-safe.
class FanOut {
 public:
  /// The first round; nothing where there is no call to make (an error may then have been noted).
  /// Gives the job back in that case.
  static std::shared_ptr<FanOut> begin(const ProgramStep& step, std::unique_ptr<FrameJob>& job);

  std::size_t calls() const noexcept { return calls_; }

  /// Makes calls until none is left to begin; true for the one who finished the last. That one
  /// alone may call next_round() or take_job().
  bool help();
  /// Puts the round's results in place; gives the round after it, or nothing after the last.
  std::shared_ptr<FanOut> next_round();
  std::unique_ptr<FrameJob> take_job() { return std::move(job_); }

 private:
  FanOut(const ProgramStep& step, std::unique_ptr<FrameJob> job, std::shared_ptr<SingleNodes> nodes,
         std::size_t round);

  const ProgramStep& step_;
  std::unique_ptr<FrameJob> job_;
  std::shared_ptr<SingleNodes> nodes_;
  std::size_t round_;
  const std::size_t calls_;
  std::vector<std::optional<FrameRecord::CapsuleError>> errors_;  ///< by call
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> unfinished_;
};

}  // namespace vcap
