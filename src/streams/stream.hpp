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

/// Reasons of drops, as records and reports name them.
inline constexpr const char* kDropClosed = "closed";
inline constexpr const char* kDropOverload = "overload";
inline constexpr const char* kDropSkipped = "skipped";
inline constexpr const char* kDropStreamFailed = "stream_failed";

/// In place of an error's code, where a capsule was not called.
inline constexpr const char* kQuarantined = "quarantined";

/// Drops that one record lists each by itself. A stream may be without records for long.
inline constexpr std::size_t kMostDropsTold = 1000;

/// One stream of a pipeline: its source thread, its frames in flight, its results in order.
///
/// The life of a frame: read (source thread) → pending → begun, with a ticket → each step of its
/// route, waiting at the gate of a stateful capsule until its predecessor has passed → completed →
/// delivered in the order of tickets. No worker ever waits: a frame that cannot go on is put
/// down, and whoever makes way posts it again. What is completed is delivered by the worker who
/// completed the next one in order or, where records are pulled, by those who pull. Thread safety:
/// thread-safe.
class Stream final : public Lane,
                     public PipelineStream,
                     public std::enable_shared_from_this<Stream> {
 public:
  /// A new route's first frame, and what is new about it.
  struct Change {
    std::string capsule;
    std::string option{};  ///< empty: the capsule itself
    OptionValue value{};
    int from_version = 0;
    int to_version = 0;
  };

  Stream(std::string id, std::unique_ptr<Source> source, std::vector<std::shared_ptr<Sink>> sinks,
         StreamRules rules, StreamServices services);
  ~Stream() override;

  /// Makes the first route, and opens the states. Throws what Capsule::open_stream throws; then
  /// none is open.
  void set_out(std::shared_ptr<const Program> program, StepOptions options);
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

  /// What a stream needs to go on with a capsule that replaces another.
  struct Replacement {
    std::shared_ptr<Stream> stream{};
    std::shared_ptr<const Route> route{};
    Route::Stop stop{};    ///< the new capsule's
    bool is_open = false;  ///< its state
    Change change{};
  };
  /// Opens the state of the capsule of that name in `program`, which replaces this stream's of the
  /// same name; its own is kept where `keep_state` says so. Nothing where it has none of the name.
  /// Throws OptionError where an option that was set does not fit, and what Capsule::open_stream
  /// throws. Then comes either of the next two.
  std::optional<Replacement> prepare(std::shared_ptr<const Program> program,
                                     const std::string& capsule, bool keep_state);
  /// From the next frame on; gives the index that it has at least.
  std::int64_t apply(Replacement replacement);
  static void cancel(const Replacement& replacement) noexcept;

  void run_one() override;

 private:
  using Batch = std::vector<std::unique_ptr<FrameJob>>;
  using Work = std::variant<std::unique_ptr<FrameJob>, std::shared_ptr<StepRun>>;

  /// What frames that were dropped leave to the next one: to be told of, and to be reckoned with.
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

  // Frame workers.
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
  void end_call(Station::Gathering& gathering, std::unique_lock<std::mutex>& lock);
  void wake_one(Station::Gathering& gathering, std::unique_lock<std::mutex>& lock);
  void pass_turn(FrameJob& job);
  Batch take_batch(Station::Gathering& gathering) const;
  void run_together(Batch& batch) const;
  bool call_together(std::span<FrameJob* const> jobs) const;
  std::unique_ptr<FrameJob> help(const std::shared_ptr<StepRun>& run);
  void leave_step(FrameJob& job);
  void note_outcome(CapsuleSlot& slot, Conduct& conduct, const FrameRecord& record);
  bool is_passed_by(FrameJob& job);
  bool is_left_out(FrameJob& job);
  bool enter(Station& station, std::unique_ptr<FrameJob>& job);
  void leave(Station& station, bool is_last);
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

  // Either, without the lock.
  void tell_failure(const std::exception_ptr& cause) const;

  // Either, under the lock.
  void drop(const Frame& frame, const char* reason, Dropped& before_next);
  bool fail(const std::exception_ptr& cause);
  void finish_if_over(std::unique_lock<std::mutex>& lock);
  std::size_t in_flight() const noexcept { return pending_.size() + begun_; }
  std::size_t most_in_flight() const noexcept { return rules_.frames_in_flight + look_ahead_; }
  bool takes_slot();
  void settle_slots();
  void look_around(const Program& program);
  void release_windows();
  void release_windows(std::optional<std::uint64_t> waiting_for);
  void end_windows_if_last();
  void post_released(std::unique_lock<std::mutex>& lock);
  void close_states() noexcept;
  std::shared_ptr<const Route> make_route(std::shared_ptr<const Program> program,
                                          StepOptions options, std::size_t run) const;
  Route::Stop make_stop(const ProgramStep& step) const;
  void enter_run(const Frame& frame);

  const std::vector<std::shared_ptr<Sink>> sinks_;
  const std::string source_name_;
  StreamServices services_;
  const std::unique_ptr<StreamTrace> trace_;
  std::mutex join_mutex_;
  std::thread thread_;  ///< guarded by join_mutex_ once it runs

  std::mutex source_mutex_;  ///< guards the pointer, for interrupt() against the source's end
  std::unique_ptr<Source> source_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> abandoned_{false};  ///< records can no longer be written: skip the work

  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable room_;
  std::condition_variable over_;
  std::condition_variable pulled_;               ///< something for next() has changed
  std::shared_ptr<const Route> route_;           ///< of the next frame that is read
  std::vector<std::weak_ptr<Station>> retired_;  ///< stations that no further frame passes
  std::vector<std::pair<std::int64_t, Change>> untold_changes_;  ///< by the first frame's index
  FlightLimit::Waiter slot_waiter_;
  std::size_t slots_ = 0;       ///< of the flight limit, that this stream has
  bool slot_reserved_ = false;  ///< one of them, or the free one, is for the frame being read
  std::int64_t last_index_ = -1;
  std::int64_t frames_read_ = 0;
  std::deque<Pending> pending_;
  Dropped between_;  ///< since the newest of those
  std::uint64_t next_ticket_ = 0;
  // Of routes with stencils. Frames that wait for those after them are in flight beyond the bound.
  std::size_t look_ahead_ = 0;                ///< how many there may be
  std::optional<std::uint64_t> look_back_{};  ///< the farthest any window reaches; absent: none
  FrameHistory history_{};
  std::shared_ptr<const Route> last_begun_{};
  std::map<std::uint64_t, std::unique_ptr<FrameJob>> awaiting_{};  ///< by ticket
  std::size_t released_ = 0;  ///< of those, put into work_ and not yet posted
  std::deque<Work> work_;
  std::map<std::uint64_t, std::unique_ptr<FrameJob>> completed_;
  std::uint64_t next_delivery_ = 0;
  std::size_t begun_ = 0;  ///< begun and not yet delivered
  bool delivering_ = false;
  /// Of those of late; until the first, none was quick.
  std::chrono::steady_clock::duration slowest_delivery_ = std::chrono::milliseconds(1);
  bool discarding_ = false;  ///< nobody pulls any more
  bool source_done_ = false;
  bool finishing_ = false;
  StreamReport report_;
  std::int64_t overdue_ = 0;  ///< frames that went on without a capsule that took too long
  CallMeter latency_;         ///< from a frame's reading to its record
  std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
};

}  // namespace vcap
