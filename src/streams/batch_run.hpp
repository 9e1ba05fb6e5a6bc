// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_annotations.hpp"
#include "capsule/output_report.hpp"
#include "streams/frame_batches.hpp"
#include "streams/frame_job.hpp"
#include "streams/step_calls.hpp"
#include "workers/watchdog.hpp"
#include "workers/work_pool.hpp"

namespace vcap {

/// One call of a capsule for several frames of a stream (Backend::process_frames, or
/// process_windows if it has a stencil).
///
/// It can be given up: the frames go on without the capsule, and results that come later are
/// dropped. So the call works on copies, and the records change only when it has returned. Thread
/// safety: thread-safe; run() is called once.
class BatchRun {
 public:
  using Batch = FrameBatches::Batch;

  struct Outcome {
    Batch jobs{};  ///< empty if the call was given up
    /// Whether the records have the results. If not, they are unchanged: the call failed, or the
    /// backend lacks `process_frames()`.
    bool done = false;
    bool too_late = false;  ///< the call returned after it was given up
  };
  /// The rest of a call that was given up.
  struct GivenUp {
    Batch jobs{};      ///< empty if the call had ended
    pid_t thread = 0;  ///< the system's id of the thread that makes the call; 0: none does
    std::chrono::steady_clock::time_point since{};
  };

  /// At least one job, all at the same step of one route.
  BatchRun(Batch jobs, std::string stream_id);

  Outcome run();
  /// Gives up the call, with an error in each frame's record that begins with `why`. If it is in
  /// progress, it counts as hung, and the pool does without its worker.
  GivenUp give_up(const std::string& why, WorkPool& pool);
  /// Sets the watch, which ends with the call.
  void set_watch(Watchdog::Watch watch);

  const Route& route() const noexcept { return *route_; }
  std::size_t step() const noexcept { return step_; }
  CapsuleSlot& slot() const noexcept { return *(*route_->compiled_plan)[step_].slot; }
  const std::string& stream_id() const noexcept { return stream_id_; }

 private:
  /// What the call needs, made from the jobs; `nullopt` if a frame needs no call, or if that
  /// failed.
  struct Inputs {
    std::vector<StepCalls> calls{};  ///< used only while the jobs are here
    std::vector<DetectionNodes> nodes{};
  };
  std::optional<Inputs> prepare(const Batch& jobs);
  /// What the capsule gave; `nodes` is absent if the call failed, or if the backend lacks
  /// process_frames().
  struct Results {
    std::optional<std::vector<DetectionNodes>> nodes{};
    std::vector<detail::OutputReport> reports{};
  };
  Results call(std::vector<DetectionNodes>& nodes);
  std::optional<std::vector<DetectionNodes>> call_capsule(std::vector<DetectionNodes>& nodes) const;
  void store(Results results) VCAP_REQUIRES(mutex_);
  bool begin(std::vector<DetectionNodes>& nodes);

  const std::shared_ptr<const Route> route_;
  const std::size_t step_;
  const std::string stream_id_;
  const std::uint64_t trace_frame_;
  std::vector<Frame> frames_{};        ///< constant once it is made
  std::vector<StepWindow> windows_{};  ///< likewise; of each frame, if the capsule has a stencil

  Mutex mutex_;
  Batch jobs_ VCAP_GUARDED_BY(mutex_);  ///< empty once the call has ended or was given up
  std::optional<Inputs> inputs_ VCAP_GUARDED_BY(mutex_);
  bool in_call_ VCAP_GUARDED_BY(mutex_) = false;
  std::uint64_t worker_ VCAP_GUARDED_BY(mutex_) = 0;
  pid_t thread_ VCAP_GUARDED_BY(mutex_) = 0;
  std::chrono::steady_clock::time_point since_ VCAP_GUARDED_BY(mutex_){};
  Watchdog::Watch watch_ VCAP_GUARDED_BY(mutex_){};
};

}  // namespace vcap
