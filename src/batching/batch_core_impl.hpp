// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/thread_annotations.hpp"
#include "batching/adaptive_linger.hpp"
#include "batching/batch_observer.hpp"
#include "batching/batch_queue.hpp"
#include "batching/batch_recorder.hpp"
#include "batching/parking_lot.hpp"
#include "batching/predict_arena.hpp"
#include "vcap/base/error.hpp"
#include "vcap/batching/detail/batch_core.hpp"

namespace vcap::detail {

/// The state machine of BatchExecutor.
///
/// An item is outside, queued, or taken. Each transition is made under mutex_:
///
///     outside → queued   its sender
///     queued  → taken    a worker or a leader (for a batch, or deadline passed), the watch
///                        (deadline passed), the thread that requests the stop, a sender
///                        (drop_oldest), close (cancel)
///
/// The thread that takes items answers them with an error or by predict, then settles them with
/// their call under mutex_. The thread that settles a call's last item answers the call without the
/// lock. It subtracts the call from unanswered_ only after that; or before, if it holds other calls
/// that it settles later. So once unanswered_ is 0, close() has waited for every answer.
/// docs/batching.md has the picture.
///
/// Threads: up to policy.workers workers, and one watch for deadlines. One worker at a time gathers
/// a batch; the others predict or wait to gather. Each thread starts when it is first needed, and
/// sleeps without a timer while there is nothing to wait for. A leader is a sender that waits for
/// its call and meanwhile predicts batches that contain its items. Workers and leaders need a seat
/// to predict; there are policy.workers seats.
class BatchCoreImpl {
 public:
  using time_point = Clock::time_point;

  BatchCoreImpl(BatchRunnerFactory make_runner, BatchPolicy policy);
  ~BatchCoreImpl();
  BatchCoreImpl(const BatchCoreImpl&) = delete;
  BatchCoreImpl& operator=(const BatchCoreImpl&) = delete;

  void send(BatchCall& call, const RequestOptions& options, bool only_if_room)
      VCAP_EXCLUDES(mutex_);
  void send_and_wait(BatchCall& call, const RequestOptions& options) VCAP_EXCLUDES(mutex_);
  void set_batch_sizes(const BatchSizes& sizes) VCAP_EXCLUDES(mutex_);
  void close(bool cancel_queued) VCAP_EXCLUDES(mutex_);
  void cancel(BatchCall& call) noexcept VCAP_EXCLUDES(mutex_);
  std::size_t workload() const noexcept {
    return queued_.load(std::memory_order_relaxed) + running_.load(std::memory_order_relaxed);
  }
  bool has_room_for_one() noexcept;
  BatchStatistics statistics() const;

 private:
  using Count = BatchRecorder::Count;

  /// Calls whose last item has been answered; their senders must be notified.
  struct Finished {
    BatchCall* first = nullptr;
    BatchCall* last = nullptr;
    std::size_t count = 0;
  };

  /// What a thread needs to predict a batch.
  struct Seat {
    std::unique_ptr<BatchRunner> runner;
    std::vector<BatchSlice> batch{};
  };
  using TakenSeat = std::unique_ptr<Seat>;
  /// The time of a predict.
  struct Ran {
    Clock::duration took() const noexcept { return ended - began; }
    time_point began{};
    time_point ended{};
  };

  /// Why items cannot be queued, and which counter counts them.
  struct Refusal {
    std::exception_ptr why{};
    Count as = Count::cancelled;
  };
  /// The group of the next batch; null: no group is ready before `until`.
  struct Turn {
    BatchGroup* group;
    time_point until;
  };

  // Senders.
  void prepare(BatchCall& call, const RequestOptions& options);
  void admit(BatchCall& call, time_point& now, Finished& finished) VCAP_REQUIRES(mutex_);
  void accept(BatchCall& call, time_point now) noexcept VCAP_REQUIRES(mutex_);
  std::size_t room() const noexcept VCAP_REQUIRES(mutex_);
  Refusal make_room(const BatchChunk& chunk, time_point& now, Finished& finished)
      VCAP_REQUIRES(mutex_);
  void start_threads_for(const BatchChunk& chunk) VCAP_REQUIRES(mutex_);
  void start_worker() VCAP_REQUIRES(mutex_);
  void watch_for(time_point deadline) VCAP_REQUIRES(mutex_);
  void wake_worker(time_point now) noexcept VCAP_REQUIRES(mutex_);

  // Leaders.
  bool may_lead(const BatchCall& call) const noexcept VCAP_REQUIRES(mutex_);
  void lead(BatchCall& call, time_point now) noexcept VCAP_REQUIRES(mutex_);
  BatchGroup* group_to_lead(const BatchCall& call, time_point now) noexcept VCAP_REQUIRES(mutex_);
  bool get_help(const BatchCall& call) noexcept VCAP_REQUIRES(mutex_);
  void watch_queued(const BatchCall& call) noexcept VCAP_REQUIRES(mutex_);
  time_point predict_in_place(const BatchCall& call, BatchGroup& group, Seat& seat, time_point now,
                              Finished& finished) noexcept VCAP_REQUIRES(mutex_);

  // Seats.
  void provide_seat() VCAP_REQUIRES(mutex_);
  TakenSeat take_seat() noexcept VCAP_REQUIRES(mutex_);
  void give_back(TakenSeat seat, time_point now) noexcept VCAP_REQUIRES(mutex_);
  void share_rest(time_point now) noexcept VCAP_REQUIRES(mutex_);
  Ran run_batch(PredictArena& arena, Seat& seat, std::size_t items,
                BatchObserver* observer) const noexcept VCAP_EXCLUDES(mutex_);

  // Workers.
  void work() VCAP_EXCLUDES(mutex_);
  bool gather() VCAP_REQUIRES(mutex_);
  std::size_t take_next(std::vector<BatchSlice>& batch, Finished& finished) noexcept
      VCAP_REQUIRES(mutex_);
  bool is_full_batch_ready(time_point now) const noexcept VCAP_REQUIRES(mutex_);
  Turn next_turn(time_point now) const noexcept VCAP_REQUIRES(mutex_);
  std::optional<time_point> hold_until(const BatchGroup& group, time_point now) const noexcept
      VCAP_REQUIRES(mutex_);
  std::size_t take_batch(BatchGroup& group, std::vector<BatchSlice>& batch, time_point now) noexcept
      VCAP_REQUIRES(mutex_);
  void settle_batch(std::vector<BatchSlice>& batch, std::size_t items, Clock::duration took,
                    Finished& finished) noexcept VCAP_REQUIRES(mutex_);
  std::size_t batch_size(const BatchGroup& group) const noexcept VCAP_REQUIRES(mutex_);
  void watch() VCAP_EXCLUDES(mutex_);
  void expire(time_point now, Finished& finished) noexcept VCAP_REQUIRES(mutex_);

  void join_threads() VCAP_REQUIRES(join_mutex_);

  // Answers.
  void fail_queued(BatchChunk& chunk, std::exception_ptr why, Count as, Finished& finished) noexcept
      VCAP_REQUIRES(mutex_);
  void fail(BatchCall& call, std::size_t begin, std::size_t end, std::exception_ptr why, Count as,
            Finished& finished) noexcept VCAP_REQUIRES(mutex_);
  void settle(BatchCall& call, std::size_t items, std::exception_ptr why, std::size_t first_failed,
              Finished& finished) noexcept VCAP_REQUIRES(mutex_);
  void answer_calls(Finished& finished) noexcept VCAP_REQUIRES(mutex_);
  static void answer_settled(Finished& finished) noexcept;
  template <class Wake>
  static BatchCall* release(Finished& finished, Wake&& wake) noexcept;
  static void answer(BatchCall* calls) noexcept;
  void queue_changed() noexcept VCAP_REQUIRES(mutex_);

  BatchPolicy policy_;  // its sizes may be set before the first call
  const std::shared_ptr<Clock> clock_;
  const BatchRunnerFactory make_runner_;
  const std::uint64_t number_ = PredictArena::next_number();

  Mutex mutex_;
  // A queue of this size does not wait for more.
  std::size_t goal_ VCAP_GUARDED_BY(mutex_);
  BatchQueue queue_ VCAP_GUARDED_BY(mutex_);
  AdaptiveLinger linger_ VCAP_GUARDED_BY(mutex_);
  // Made with the first seat.
  std::unique_ptr<PredictArena> arena_ VCAP_GUARDED_BY(mutex_){};
  std::vector<std::thread> workers_ VCAP_GUARDED_BY(mutex_){};
  // Those that nobody has taken. There is room for all seats_.
  std::vector<TakenSeat> free_seats_ VCAP_GUARDED_BY(mutex_){};
  std::size_t seats_ VCAP_GUARDED_BY(mutex_) = 0;
  std::thread watch_ VCAP_GUARDED_BY(mutex_){};
  // The observer of the latest sender.
  std::shared_ptr<BatchObserver> observer_ VCAP_GUARDED_BY(mutex_){};
  // Workers that are not within predict.
  std::size_t idle_workers_ VCAP_GUARDED_BY(mutex_) = 0;
  // Calls accepted and not yet answered.
  std::size_t unanswered_ VCAP_GUARDED_BY(mutex_) = 0;
  // Senders that wait for room.
  std::size_t blocked_ VCAP_GUARDED_BY(mutex_) = 0;
  // Blocking calls that a stop token may still reach.
  std::size_t guests_ VCAP_GUARDED_BY(mutex_) = 0;
  bool closing_ VCAP_GUARDED_BY(mutex_) = false;
  // closing_, and everything is answered.
  bool finished_ VCAP_GUARDED_BY(mutex_) = false;

  enum class Sleep { none, for_work, for_more };
  bool gathering_ VCAP_GUARDED_BY(mutex_) = false;
  Sleep sleep_ VCAP_GUARDED_BY(mutex_) = Sleep::none;  // state of the gathering worker
  time_point sleep_until_ VCAP_GUARDED_BY(mutex_){};
  time_point watch_until_ VCAP_GUARDED_BY(mutex_){};

  CondVar work_{};          // the gathering worker waits on it
  CondVar gather_turn_{};   // the other idle workers
  CondVar watch_wake_{};    // the watch
  CondVar room_{};          // blocked senders
  CondVar all_answered_{};  // close and the destructor
  Mutex join_mutex_{};
  std::atomic<std::uint64_t> parked_{0};  // items of blocking calls so far

  // Written under mutex_, read at any time.
  BatchRecorder recorder_;
  std::atomic<std::size_t> queued_{0};   // items: queue_.size()
  std::atomic<std::size_t> running_{0};  // items within predict
};

}  // namespace vcap::detail
