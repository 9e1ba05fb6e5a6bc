// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/thread_annotations.hpp"
#include "observe/stream_trace.hpp"
#include "streams/batch_run.hpp"
#include "streams/frame_job.hpp"
#include "streams/intake.hpp"
#include "streams/parked_calls.hpp"
#include "streams/pipeline_stream.hpp"
#include "streams/reorder_buffer.hpp"
#include "streams/route_changes.hpp"
#include "streams/stencil_windows.hpp"
#include "streams/step_run.hpp"
#include "streams/stream_account.hpp"
#include "workers/work_pool.hpp"

namespace vcap {

/// Error code in records, if a capsule is left out because of quarantine.
inline constexpr const char* kQuarantined = "quarantined";
/// The code of a warning: a capsule was left out, because the frame lacks a picture that it takes.
inline constexpr const char* kMissingPicture = "missing_picture";

/// One stream of a pipeline: its source thread, its frames in flight, its records in order.
///
/// The life of a frame:
/// - read (source thread), then it waits in the Intake
/// - begun, with a ticket
/// - each step of its route: StencilWindows, StatefulGate, FrameBatches or CallPlaces may park it
///   there
/// - completed: ReorderBuffer
/// - delivered in the order of tickets
///
/// The machines named here decide; this class locks, asks them, and posts the work that they
/// return. No worker waits for another frame: what makes way for a parked frame posts it. The
/// worker that completes the next record in order delivers all completed records; with
/// StreamConfig::pull, the threads that pull deliver them. Thread safety: thread-safe.
class Stream final : public Lane,
                     public PipelineStream,
                     public std::enable_shared_from_this<Stream> {
 public:
  Stream(std::string id, std::unique_ptr<Source> source, std::vector<std::shared_ptr<Sink>> sinks,
         StreamRules rules, StreamServices services);
  ~Stream() override;

  /// Makes the first route, and opens the states. Throws what Capsule::open_stream() throws; then
  /// no state is open.
  void init_route(std::shared_ptr<const CompiledPlan> compiled_plan, StepOptions options);
  void start() override;
  void stop() noexcept override;
  std::optional<FrameRecord> next() override;
  std::optional<FrameRecord> try_next() override;
  void discard_records() override;
  void wait_until_ended() override;
  void join() override;
  std::int64_t set_option(const std::string& capsule, const std::string& option,
                          OptionValue value) override;
  StreamReport report() const override;
  StreamStats stats() const override;
  StreamSettings settings() const override;
  std::shared_ptr<Stream> changeable() override { return shared_from_this(); }

  /// What a stream needs to continue with a capsule that replaces another.
  struct Replacement {
    std::shared_ptr<Stream> stream{};
    std::shared_ptr<const Route> route{};
    Route::Stop stop{};                      ///< for the new capsule
    bool is_open = false;                    ///< whether its state was opened
    std::shared_ptr<CapsuleLane> retired{};  ///< the old capsule's lane, if no new frame passes it
    RouteChanges::Change change{};
  };
  /// Prepares the replacement of this stream's capsule named `capsule` by the one in
  /// `plan`, and opens its state. With `keep_state`, the old state goes over to it.
  /// `nullopt` if the stream has ended or has no capsule of that name. Throws OptionError if the
  /// new capsule does not accept an option that was set, and what Capsule::open_stream() throws.
  /// Must be followed by apply() or cancel().
  std::optional<Replacement> prepare(std::shared_ptr<const CompiledPlan> compiled_plan,
                                     const std::string& capsule, bool keep_state);
  /// The same for another config of a capsule that stays. Throws InvalidArgument if the stream does
  /// not go through the capsule; (invalid_config) if the capsule does not accept the config.
  Replacement prepare_config(const std::string& capsule, JsonValue config, bool keep_state);
  /// Uses the new capsule from the next frame on; returns the lowest index that this frame can
  /// have. Afterwards `replacement.route` is the route before, to be released without a lock.
  std::int64_t apply(Replacement& replacement);
  static void cancel(const Replacement& replacement) noexcept;

  void run_one() override;

  /// There is a place for one of the parked calls, which this posts. [any thread]
  void go_on(ParkedCalls& parked);

 private:
  /// A BatchTurn without a place: FrameBatches::begin_call() must follow.
  using Work = std::variant<std::unique_ptr<FrameJob>, std::shared_ptr<StepRun>, BatchTurn>;
  class RunHelpers;

  std::optional<SourceState> source_state() const;

  // Source thread.
  void read_frames();
  void note_broken_pictures();
  std::optional<bool> may_read() VCAP_REQUIRES(mutex_);
  bool wait_for_room();
  std::optional<bool> accept(Frame frame, std::uint64_t trace_frame);
  void check(const Frame& frame) const VCAP_REQUIRES(mutex_);
  std::shared_ptr<const Route> route_of_run(const Frame& frame);
  std::shared_ptr<const Route> repeat_changes(const RecordedFrame& recorded, std::int64_t index)
      VCAP_REQUIRES(mutex_);

  void repeat_configs(const RecordedFrame& recorded, std::int64_t index) VCAP_EXCLUDES(mutex_);

  // Frame workers: the way of a frame.
  std::unique_ptr<FrameJob> begin_frame(std::size_t& posts) VCAP_REQUIRES(mutex_);
  void enter_if_open(FrameJob& job) VCAP_REQUIRES(mutex_);
  void begin_if_nothing_waits(FrameJob& job) VCAP_REQUIRES(mutex_);
  void begin_options(FrameJob& job);
  std::unique_ptr<FrameJob> resume(Work work);
  void advance(std::unique_ptr<FrameJob> job);
  std::unique_ptr<FrameJob> await_window(std::unique_ptr<FrameJob> job);
  std::unique_ptr<FrameJob> enter_gate(std::unique_ptr<FrameJob> job);
  bool gathers(const CompiledStep& step) const;
  std::unique_ptr<FrameJob> gather(std::unique_ptr<FrameJob> job);
  std::unique_ptr<FrameJob> begin_batch(BatchTurn turn);
  std::unique_ptr<FrameJob> run_batch(const BatchTurn& turn);
  FrameBatches::Batch take_batch(const BatchTurn& turn);
  std::unique_ptr<FrameJob> go_on_with(ReadyJobs ready, const BatchTurn* ended);
  std::size_t end_batch_call(const std::shared_ptr<const Route>& route, std::size_t step)
      VCAP_REQUIRES(mutex_);
  std::unique_ptr<FrameJob> call_capsule(std::unique_ptr<FrameJob> job);
  struct StateOfStep;
  StateOfStep state_of_step(const FrameJob& job);
  std::unique_ptr<FrameJob> run_calls(std::unique_ptr<FrameJob> job, StepCalls calls,
                                      StepContext context);
  bool is_passed_by(FrameJob& job);
  bool is_left_out(FrameJob& job);
  std::unique_ptr<FrameJob> join_run(const std::shared_ptr<StepRun>& run, bool has_place = false);
  std::unique_ptr<FrameJob> help_run(const std::shared_ptr<StepRun>& run);
  void call_helpers(const std::shared_ptr<StepRun>& run, std::size_t calls);
  void leave_step(FrameJob& job);
  void note_step(FrameJob& job, const std::string& capsule) const;
  void release_pictures(FrameJob& job) const;
  std::size_t leave_gate(FrameJob& job, const Route::Stop& stop) VCAP_REQUIRES(mutex_);
  void complete(std::unique_ptr<FrameJob> job);

  // Places for calls.
  static bool take_place(FrameJob& job);
  std::unique_ptr<FrameJob> park(std::unique_ptr<FrameJob> job);
  bool get_place(BatchTurn& turn);

  // Calls that are given up. give_up() runs in the watchdog's thread, or in that of
  // Pipeline::give_up_calls().
  void watch(const std::shared_ptr<StepRun>& run);
  void watch(const std::shared_ptr<BatchRun>& run);
  template <class Run>
  void watch(const std::shared_ptr<Run>& run, const CapsuleSlot& slot,
             std::chrono::nanoseconds wait, std::chrono::nanoseconds limit);
  std::chrono::nanoseconds extension(const CapsuleSlot& slot, std::chrono::nanoseconds limit) const;
  bool give_up(const std::shared_ptr<StepRun>& run, const std::string& why);
  bool give_up(const std::shared_ptr<BatchRun>& run, const std::string& why);
  static void note_return(const Route::Stop& stop, const CapsuleSlot& slot,
                          const std::string& stream_id, std::int64_t frame);

  // Delivery, by frame workers or by threads that pull.
  struct Delivered {
    std::optional<FrameRecord> record{};    ///< for next(), unless it was dropped
    std::unique_ptr<FrameJob> following{};  ///< which this thread must deliver, too
  };
  std::unique_ptr<FrameJob> begin_delivery() VCAP_REQUIRES(mutex_);
  Delivered deliver(std::unique_ptr<FrameJob> job);
  void deliver_all(std::unique_ptr<FrameJob> job);
  std::optional<FrameRecord> pull(std::unique_ptr<FrameJob> job);
  void write(FrameJob& job);
  bool is_warm_up(const Frame& frame) const;

  // The end.
  void log_failure(const StreamFailure& failure) const;
  bool begins_finishing() VCAP_REQUIRES(mutex_);
  void finish();
  void release_leftovers();
  void close_states() noexcept;

  // Routes.
  std::shared_ptr<const Route> make_route(std::shared_ptr<const CompiledPlan> compiled_plan,
                                          StepOptions options, std::size_t run);
  Route::Stop make_stop(const CompiledStep& step, std::shared_ptr<const JsonValue> config);
  StreamInfo info_for(const CapsuleSlot& slot, const JsonValue* config) const;
  void set_route(std::shared_ptr<const Route>& route) VCAP_REQUIRES(mutex_);

  std::size_t add_work(ReadyJobs ready) VCAP_REQUIRES(mutex_);
  void post(std::size_t pieces) VCAP_EXCLUDES(mutex_);

  const std::vector<std::shared_ptr<Sink>> sinks_;
  StreamServices services_;
  const std::unique_ptr<StreamTrace> trace_;
  Mutex join_mutex_;
  std::thread thread_;  ///< guarded by join_mutex_ once it runs

  mutable Mutex source_mutex_;
  mutable CondVar source_free_;
  /// The source thread uses it without the lock; others, only while they count as users.
  std::unique_ptr<Source> source_;
  /// The source thread uses it without the lock; empty between frames, but keeps its memory.
  Intake::Dropped dropped_;
  /// Of the source, as reported. Used by the source thread.
  std::int64_t broken_pictures_ = 0;
  /// Calls of interrupt() and state() in progress; the end of the source waits for them.
  mutable std::size_t source_users_ VCAP_GUARDED_BY(source_mutex_) = 0;

  std::atomic<bool> stopping_{false};
  std::atomic<bool> abandoned_{false};   ///< records cannot be written any more; steps are skipped
  std::atomic<bool> discarding_{false};  ///< no thread pulls any more

  mutable Mutex mutex_;
  CondVar room_;
  CondVar over_;
  CondVar pulled_;  ///< for next(): a record is complete, or the end
  StreamAccount account_ VCAP_GUARDED_BY(mutex_);
  Intake intake_ VCAP_GUARDED_BY(mutex_);
  RouteChanges changes_ VCAP_GUARDED_BY(mutex_);
  StencilWindows windows_ VCAP_GUARDED_BY(mutex_);
  ReorderBuffer records_ VCAP_GUARDED_BY(mutex_);
  /// Each has a call of run_one() posted, or about to be. Taken from the front. A vector, since
  /// there are few, and each of thousands of idle streams would pay for an empty deque.
  std::vector<Work> work_ VCAP_GUARDED_BY(mutex_);
  std::int64_t last_index_ VCAP_GUARDED_BY(mutex_) = -1;
  std::uint64_t next_ticket_ VCAP_GUARDED_BY(mutex_) = 0;
  /// Decaying maximum of delivery times. The start value counts as slow, so no delivery is assumed
  /// quick before the first ones are measured.
  std::chrono::steady_clock::duration slowest_delivery_ VCAP_GUARDED_BY(mutex_) =
      std::chrono::milliseconds(1);
  bool finishing_ VCAP_GUARDED_BY(mutex_) = false;
};

}  // namespace vcap
