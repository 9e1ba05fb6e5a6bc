// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_annotations.hpp"
#include "streams/step_calls.hpp"
#include "workers/watchdog.hpp"
#include "workers/work_pool.hpp"

namespace vcap {

/// A step whose calls several workers share, or that can be given up.
///
/// The worker that ends the last call continues with the frame, so no worker waits for another. A
/// run that takes too long can be given up: the frame goes on without it, and results of calls that
/// return later are dropped. Thread safety: thread-safe.
class StepRun {
 public:
  /// A call in progress.
  struct Call {
    std::size_t number = 0;
    std::uint64_t worker = 0;  ///< WorkPool::current()
    pid_t thread = 0;          ///< the system's thread id
    std::chrono::steady_clock::time_point since{};
    bool has_place = false;  ///< its thread holds a place (CallPlaces) for it
    bool is_listed = false;  ///< give_up() will report it
  };
  struct Outcome {
    /// Set if this thread has ended the last call: the frame, with the results and errors in its
    /// record.
    std::unique_ptr<FrameJob> job{};
    bool too_late = false;  ///< the call returned after the run was given up
  };
  /// The rest of a run that was given up: the job, null if the run had ended, and the calls that
  /// may still return.
  struct GivenUp {
    std::unique_ptr<FrameJob> job{};
    std::vector<Call> calls{};
  };
  /// Gets other threads to call run(), too.
  class Helpers {
   public:
    /// `calls`: the calls of a round, at least 2. [thread that calls run()]
    virtual void help(std::size_t calls) = 0;

   protected:
    ~Helpers() = default;
  };

  /// Copies what `context` points to, since late calls use it after the frame has gone on.
  StepRun(std::unique_ptr<FrameJob> job, StepCalls calls, StepContext context);

  /// Makes calls until none is left to begin. `helpers`: informed of each further round; null if
  /// the calls are not shared. `has_place`: whether this thread holds a place, besides that of the
  /// frame. If the call was too late, whoever gave it up has given its place back.
  Outcome run(Helpers* helpers, bool has_place = false);
  /// Gives up the run, with an error in the frame's record that begins with `why`. From now on its
  /// calls in progress count as hung, and the pool does without their workers.
  GivenUp give_up(const std::string& why, WorkPool& pool);
  /// Sets the watch, which ends with the run.
  void set_watch(Watchdog::Watch watch);

  /// The calls of the round in progress.
  std::size_t calls() const noexcept { return round_calls_; }
  const StepContext& context() const noexcept { return context_; }

 private:
  std::optional<Call> begin_call(bool has_place, std::optional<StepContext::Result>& failed,
                                 DetectionNodes& nodes);
  bool end_call(const Call& call, StepContext::Result result, Outcome& outcome,
                std::size_t& next_calls);

  const std::shared_ptr<const Route> route_;
  const std::string stream_id_;
  const Frame frame_;
  const StepContext context_;
  std::atomic<std::size_t> round_calls_;

  Mutex mutex_;
  std::unique_ptr<FrameJob> job_ VCAP_GUARDED_BY(mutex_);  ///< null once the run has ended
  StepCalls calls_ VCAP_GUARDED_BY(mutex_);
  std::vector<Call> in_progress_ VCAP_GUARDED_BY(mutex_){};
  Watchdog::Watch watch_ VCAP_GUARDED_BY(mutex_){};
};

}  // namespace vcap
