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
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/call_meter.hpp"
#include "observe/stream_trace.hpp"
#include "streams/pipeline_stream.hpp"
#include "streams/route.hpp"
#include "streams/step_run.hpp"
#include "vcap/observe/pipeline_stats.hpp"
#include "vcap/streams/stream_config.hpp"
#include "vcap/streams/stream_report.hpp"
#include "workers/watchdog.hpp"
#include "workers/work_pool.hpp"

namespace vcap {

/// Reasons of drops in records and reports.
inline constexpr const char* kDropClosed = "closed";
inline constexpr const char* kDropOverload = "overload";
inline constexpr const char* kDropSkipped = "skipped";
inline constexpr const char* kDropStreamFailed = "stream_failed";

/// Error code in records, if a capsule is left out because of quarantine.
inline constexpr const char* kQuarantined = "quarantined";

/// The most drops that one record lists one by one; further ones are counted by reason. A stream
/// may have no record for a long time.
inline constexpr std::size_t kMostDropsTold = 1000;

/// One stream of a pipeline: its source thread, its frames in flight, its records in order.
///
/// The life of a frame:
/// - read (source thread), then pending
/// - begun, with a ticket
/// - each step of its route; at the gate of a stateful capsule it waits until the frame before has
///   passed
/// - completed
/// - delivered in the order of tickets
///
/// No worker waits for another frame. A frame that cannot continue is parked, and the frame that
/// makes way posts it again. The worker that completes the next record in order delivers all
/// completed records; with StreamConfig::pull, the threads that pull deliver them. Thread safety:
/// thread-safe.
class Stream final : public Lane,
                     public PipelineStream,
                     public std::enable_shared_from_this<Stream> {
 public:
  /// What is new in a route, beginning with its first frame.
  struct Change {
    std::string capsule;
    std::string option{};  ///< empty: the capsule itself was replaced
    OptionValue value{};
    int from_version = 0;
    int to_version = 0;
  };

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
  std::shared_ptr<Stream> changeable() override { return shared_from_this(); }

  /// What a stream needs to continue with a capsule that replaces another.
  struct Replacement {
    std::shared_ptr<Stream> stream{};
    std::shared_ptr<const Route> route{};
    Route::Stop stop{};    ///< for the new capsule
    bool is_open = false;  ///< whether its state was opened
    Change change{};
  };
  /// Prepares the replacement of this stream's capsule named `capsule` by the one in
  /// `plan`, and opens its state. With `keep_state`, the old state goes over to it.
  /// `nullopt` if the stream has ended or has no capsule of that name. Throws OptionError if the
  /// new capsule does not accept an option that was set, and what Capsule::open_stream() throws.
  /// Must be followed by apply() or cancel().
  std::optional<Replacement> prepare(std::shared_ptr<const CompiledPlan> compiled_plan,
                                     const std::string& capsule, bool keep_state);
  /// Uses the new capsule from the next frame on; returns the lowest index that this frame can
  /// have.
  std::int64_t apply(Replacement replacement);
  static void cancel(const Replacement& replacement) noexcept;

  void run_one() override;

 private:
  using Batch = std::vector<std::unique_ptr<FrameJob>>;
  using Work = std::variant<std::unique_ptr<FrameJob>, std::shared_ptr<StepRun>>;

  /// What dropped frames pass on to the next frame: the drops to list, and their discontinuities.
  struct Dropped {
    std::vector<FrameRecord::Drop> drops{};
    Discontinuities discontinuities{};
    void add(FrameRecord::Drop drop);
    void add(const Dropped& later);
  };
  /// A frame that was read and not begun.
  struct Pending {
    Frame frame;
    std::shared_ptr<const Route> route;
    std::chrono::steady_clock::time_point read_at;
    std::uint64_t trace_frame;
    Dropped before;
  };

  // Source thread.
  void read_frames();
  bool wait_for_room();
  bool accept(Frame frame, std::uint64_t trace_frame);
  void check(const Frame& frame) const;
  bool make_room();
  void drop_oldest();

  // Frame workers; delivery also runs in threads that pull, and give_up() in the watchdog's thread.
  std::unique_ptr<FrameJob> begin_pending();
  void begin_windows(const FrameJob& job);
  std::unique_ptr<FrameJob> await_window(std::unique_ptr<FrameJob> job);
  std::unique_ptr<FrameJob> with_window(std::unique_ptr<FrameJob> job);
  std::unique_ptr<FrameJob> take_released();
  bool take_window(FrameJob& job) const;
  bool has_whole_window(FrameJob& job) const;
  StepWindow window_of(const FrameJob& job) const;
  void tell_changes(FrameRecord& record);
  void advance(std::unique_ptr<FrameJob> job);
  std::unique_ptr<FrameJob> run_step(std::unique_ptr<FrameJob> job);
  std::shared_ptr<StepRun> begin_step(std::unique_ptr<FrameJob>& job);
  bool gathers(const FrameJob& job) const;
  std::unique_ptr<FrameJob> gather(std::unique_ptr<FrameJob> job);
  void end_call(CapsuleLane::Gathering& gathering, std::unique_lock<std::mutex>& lock);
  void wake_one(CapsuleLane::Gathering& gathering, std::unique_lock<std::mutex>& lock);
  void pass_turn(FrameJob& job);
  Batch take_batch(CapsuleLane::Gathering& gathering) const;
  void run_together(Batch& batch) const;
  bool call_together(std::span<FrameJob* const> jobs) const;
  std::unique_ptr<FrameJob> help(const std::shared_ptr<StepRun>& run);
  void leave_step(FrameJob& job);
  void note_outcome(CapsuleSlot& slot, CapsuleHealth& health, const FrameRecord& record);
  bool is_passed_by(FrameJob& job);
  bool is_left_out(FrameJob& job);
  bool enter(CapsuleLane& lane, std::unique_ptr<FrameJob>& job);
  void leave(CapsuleLane& lane, bool is_last);
  void call_helpers(const std::shared_ptr<StepRun>& run);
  void watch(const std::shared_ptr<StepRun>& run);
  void give_up(const std::shared_ptr<StepRun>& run);
  std::string work_of(const StepRun& run, const std::vector<StepRun::Call>& calls) const;
  static void note_return(const StepRun& run);
  void complete(std::unique_ptr<FrameJob> job);
  void deliver_completed(std::unique_lock<std::mutex>& lock);
  bool has_completed() const;
  std::optional<FrameRecord> deliver_next(std::unique_lock<std::mutex>& lock);
  bool deliver(FrameJob& job);
  void write(FrameJob& job);
  bool is_warm_up(const Frame& frame) const;
  void after_pull(std::unique_lock<std::mutex>& lock);

  // Source thread or frame workers, without `mutex_`.
  void tell_failure(const std::exception_ptr& cause) const;

  // Any thread; requires `mutex_`.
  void drop(const Frame& frame, const char* reason, Dropped& before_next);
  bool fail(const std::exception_ptr& cause);
  void finish_if_over(std::unique_lock<std::mutex>& lock);
  std::size_t in_flight() const noexcept { return pending_.size() + begun_; }
  std::size_t most_in_flight() const noexcept { return rules_.frames_in_flight + look_ahead_; }
  bool takes_slot();
  void settle_slots();
  void look_around(const CompiledPlan& compiled_plan);
  void release_windows();
  void release_windows(std::optional<std::uint64_t> waiting_for);
  void end_windows_if_last();
  void post_released(std::unique_lock<std::mutex>& lock);
  // Any thread. close_states() locks `mutex_`; the other two do not need it.
  void close_states() noexcept;
  std::shared_ptr<const Route> make_route(std::shared_ptr<const CompiledPlan> compiled_plan,
                                          StepOptions options, std::size_t run) const;
  Route::Stop make_stop(const CompiledStep& step) const;
  // Source thread; requires `mutex_`.
  void enter_run(const Frame& frame);

  const std::vector<std::shared_ptr<Sink>> sinks_;
  const std::string source_name_;
  StreamServices services_;
  const std::unique_ptr<StreamTrace> trace_;
  std::mutex join_mutex_;
  std::thread thread_;  ///< guarded by join_mutex_ once it runs

  /// Guards source_: interrupt() must not race with the destruction of the source.
  std::mutex source_mutex_;
  std::unique_ptr<Source> source_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> abandoned_{false};  ///< records can no longer be written, so steps are skipped

  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable room_;
  std::condition_variable over_;
  std::condition_variable pulled_;      ///< for next(): a record is complete, or the end
  std::shared_ptr<const Route> route_;  ///< for the next frame that is read
  std::vector<std::weak_ptr<CapsuleLane>> retired_;  ///< lanes that no new frame passes
  /// By the index of the first frame.
  std::vector<std::pair<std::int64_t, Change>> untold_changes_;
  InFlightLimiter::Waiter slot_waiter_;
  std::size_t slots_ = 0;       ///< slots of the flight limit that this stream has
  bool slot_reserved_ = false;  ///< one slot is reserved for the frame that is being read
  std::int64_t last_index_ = -1;
  std::int64_t frames_read_ = 0;
  std::deque<Pending> pending_;
  Dropped between_;  ///< drops since the newest pending frame
  std::uint64_t next_ticket_ = 0;
  // For routes with stencils. Frames that wait for later frames are in flight beyond the bound.
  std::size_t look_ahead_ = 0;                ///< the most such frames
  std::optional<std::uint64_t> look_back_{};  ///< of the longest window; absent: no windows
  FrameHistory history_{};
  std::shared_ptr<const Route> last_begun_{};
  std::map<std::uint64_t, std::unique_ptr<FrameJob>> awaiting_{};  ///< by ticket
  std::size_t released_ = 0;  ///< of those, how many are in work_ and not yet posted
  std::deque<Work> work_;
  std::map<std::uint64_t, std::unique_ptr<FrameJob>> completed_;
  std::uint64_t next_delivery_ = 0;
  std::size_t begun_ = 0;  ///< begun and not yet delivered
  bool delivering_ = false;
  /// Decaying maximum of delivery times. The start value counts as slow, so no delivery is assumed
  /// quick before the first ones are measured.
  std::chrono::steady_clock::duration slowest_delivery_ = std::chrono::milliseconds(1);
  bool discarding_ = false;  ///< no thread pulls any more
  bool source_done_ = false;
  bool finishing_ = false;
  StreamReport report_;
  std::int64_t overdue_ = 0;  ///< frames that went on without a capsule past its deadline
  CallMeter latency_;         ///< from reading a frame to its record
  std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
};

}  // namespace vcap
