// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "runtime/frame_job.hpp"
#include "runtime/program.hpp"
#include "runtime/quarantine.hpp"
#include "runtime/work_pool.hpp"
#include "vcap/runtime/pipeline.hpp"

namespace vcap {

/// Reasons of drops, as records and reports name them.
inline constexpr const char* kDropClosed = "closed";
inline constexpr const char* kDropOverload = "overload";
inline constexpr const char* kDropSkipped = "skipped";
inline constexpr const char* kDropStreamFailed = "stream_failed";

/// One stream of a pipeline: its source thread, its frames in flight, its results in order.
///
/// The life of a frame: read (source thread) → pending → begun, with a ticket → each step of the
/// program, waiting at the gate of a stateful one until its predecessor has passed → completed →
/// delivered in the order of tickets. No worker ever waits: a frame that cannot go on is put
/// down, and whoever makes way posts it again. What is completed is delivered by the worker who
/// completed the next one in order or, where records are pulled, by those who pull. Thread safety:
/// thread-safe.
class Stream final : public Lane, public std::enable_shared_from_this<Stream> {
 public:
  /// How a StreamConfig reads once all that is automatic has been decided.
  struct Rules {
    OverflowPolicy overflow = OverflowPolicy::wait;  ///< none that is automatic
    std::size_t frames_in_flight = 1;
    std::int64_t keep_every = 1;
    std::optional<std::int64_t> max_frames{};
    bool pull = false;
    QuarantinePolicy quarantine{};
  };

  Stream(std::string id, std::unique_ptr<Source> source, std::vector<std::shared_ptr<Sink>> sinks,
         std::shared_ptr<const Program> program, StepOptions options, Rules rules, WorkPool& pool);
  ~Stream() override;

  const std::string& id() const noexcept { return id_; }
  const Rules& rules() const noexcept { return rules_; }

  /// Starts the source thread.
  void start();
  /// Makes the source end soon; waits for nothing.
  void stop() noexcept;
  /// The next record, once it is complete; nothing once there will be none. Only with rules().pull.
  std::optional<FrameRecord> next();
  /// The same without waiting.
  std::optional<FrameRecord> try_next();
  /// Drops the records that nobody will pull, those to come too.
  void discard_records();
  /// Waits until the last frame is answered and every state dropped.
  void wait_until_ended();
  /// Waits for the source thread too, so that nothing of the stream runs any more.
  void join();

  /// Changes an option of one step from the next frame on; gives the index that it has at least.
  std::int64_t set_option(std::size_t step, const std::string& option, OptionValue value);
  StreamReport report() const;

  void run_one() override;

 private:
  using Work = std::variant<std::unique_ptr<FrameJob>, std::shared_ptr<FanOut>>;

  /// A frame that was read and not begun.
  struct Pending {
    Frame frame;
    std::shared_ptr<const StepOptions> options;
  };
  /// Where a stateful step lets frames through in the order of their tickets.
  struct Gate {
    std::uint64_t next = 0;
    std::map<std::uint64_t, std::unique_ptr<FrameJob>> parked{};
    /// A discontinuity that the step has not seen, since it was not called on that frame. Touched
    /// only by the one frame that is inside.
    Discontinuity owed = Discontinuity::none;
  };

  // Source thread.
  void read_frames();
  bool wait_for_room();
  bool accept(Frame frame);
  void check(const Frame& frame) const;
  void make_room();

  // Frame workers.
  std::unique_ptr<FrameJob> begin_pending();
  void advance(std::unique_ptr<FrameJob> job);
  void leave_step(FrameJob& job);
  bool is_left_out(FrameJob& job);
  bool enter(Gate& gate, std::unique_ptr<FrameJob>& job);
  void leave(Gate& gate);
  void run_inside(Gate& gate, const ProgramStep& step, FrameJob& job);
  std::unique_ptr<FrameJob> fan_out(const ProgramStep& step, std::unique_ptr<FrameJob> job);
  std::unique_ptr<FrameJob> go_on(std::shared_ptr<FanOut> round);
  void call_helpers(const std::shared_ptr<FanOut>& round);
  void complete(std::unique_ptr<FrameJob> job);
  void deliver_completed(std::unique_lock<std::mutex>& lock);
  bool has_completed() const;
  std::optional<FrameRecord> deliver_next(std::unique_lock<std::mutex>& lock);
  bool deliver(FrameJob& job);

  void after_pull(std::unique_lock<std::mutex>& lock);

  // Either, under the lock.
  void drop(const Frame& frame, const char* reason);
  void fail(const std::exception_ptr& cause);
  void finish_if_over(std::unique_lock<std::mutex>& lock);

  const std::string id_;
  const std::vector<std::shared_ptr<Sink>> sinks_;
  const std::shared_ptr<const Program> program_;
  const Rules rules_;
  const std::string source_name_;
  WorkPool& pool_;
  std::mutex join_mutex_;
  std::thread thread_;  ///< guarded by join_mutex_ once it runs

  std::mutex source_mutex_;  ///< guards the pointer, for interrupt() against the source's end
  std::unique_ptr<Source> source_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> abandoned_{false};  ///< records can no longer be written: skip the work

  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable room_;
  std::condition_variable over_;
  std::condition_variable pulled_;  ///< something for next() has changed
  std::shared_ptr<const StepOptions> options_;
  std::int64_t last_index_ = -1;
  std::int64_t frames_read_ = 0;
  std::deque<Pending> pending_;
  Discontinuity owed_ = Discontinuity::none;  ///< of a dropped frame, for the next one begun
  std::vector<FrameRecord::Drop> untold_drops_;
  std::uint64_t next_ticket_ = 0;
  std::deque<Work> work_;
  std::vector<Gate> gates_;              ///< by step; those of stateless steps are not used
  std::vector<Quarantine> quarantines_;  ///< by step; empty where there are none
  std::map<std::uint64_t, std::unique_ptr<FrameJob>> completed_;
  std::uint64_t next_delivery_ = 0;
  std::size_t begun_ = 0;  ///< begun and not yet delivered
  bool delivering_ = false;
  bool discarding_ = false;  ///< nobody pulls any more
  bool source_done_ = false;
  bool finishing_ = false;
  StreamReport report_;
  const std::chrono::steady_clock::time_point opened_;
};

}  // namespace vcap
