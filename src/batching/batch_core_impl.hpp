// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

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
///     queued  → taken    a worker (for a batch, or deadline passed), the watch (deadline
///                        passed), the thread that requests the stop, a sender (drop_oldest),
///                        close (cancel)
///
/// The thread that takes items answers them with an error or by predict, then settles them with
/// their call under mutex_. The thread that settles a call's last item answers the call without the
/// lock. It subtracts the call from unanswered_ only after that; or before, if it holds other calls
/// that it settles later. So once unanswered_ is 0, close() has waited for every answer.
/// docs/batching.md has the picture.
///
/// Threads: up to policy.workers workers, and one watch for deadlines. One worker at a time gathers
/// a batch; the others predict or wait to gather. Each thread starts when it is first needed, and
/// sleeps without a timer while there is nothing to wait for.
class BatchCoreImpl {
 public:
  using time_point = Clock::time_point;

  BatchCoreImpl(BatchRunnerFactory make_runner, BatchPolicy policy);
  ~BatchCoreImpl();
  BatchCoreImpl(const BatchCoreImpl&) = delete;
  BatchCoreImpl& operator=(const BatchCoreImpl&) = delete;

  void send(BatchCall& call, const RequestOptions& options, bool only_if_room);
  void send_and_wait(BatchCall& call, const RequestOptions& options);
  void set_batch_sizes(const BatchSizes& sizes);
  void close(bool cancel_queued);
  void cancel(BatchCall& call) noexcept;
  std::size_t workload() const noexcept {
    return queued_.load(std::memory_order_relaxed) + running_.load(std::memory_order_relaxed);
  }
  bool has_room_for_one() noexcept;
  BatchStatistics statistics() const;

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Count = BatchRecorder::Count;

  /// Calls whose last item has been answered; their senders must be notified.
  struct Finished {
    BatchCall* first = nullptr;
    BatchCall* last = nullptr;
    std::size_t count = 0;
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
  void enqueue(Lock& lock, BatchCall& call, bool only_if_room, time_point now);
  void admit(Lock& lock, BatchCall& call, time_point& now, Finished& finished);
  Refusal admit(Lock& lock, BatchChunk& chunk, time_point& now, Finished& finished);
  void accept(BatchCall& call, time_point now) noexcept;
  std::size_t room() const noexcept;
  Refusal make_room(Lock& lock, const BatchChunk& chunk, time_point& now, Finished& finished);
  void start_threads(const BatchChunk& chunk);
  void start_worker();
  void wake_worker(time_point now) noexcept;

  // Workers.
  void work(BatchRunner& runner, std::vector<BatchSlice>& batch);
  bool gather(Lock& lock, Finished& finished);
  Turn next_turn(time_point now) const noexcept;
  std::optional<time_point> hold_until(const BatchGroup& group, time_point now) const noexcept;
  std::size_t take_batch(std::vector<BatchSlice>& batch, Finished& finished);
  std::size_t batch_size(const BatchGroup& group) const noexcept;
  void watch();
  void expire(time_point now, Finished& finished);

  // Answers.
  void fail_queued(BatchChunk& chunk, std::exception_ptr why, Count as,
                   Finished& finished) noexcept;
  void fail(BatchCall& call, std::size_t begin, std::size_t end, std::exception_ptr why, Count as,
            Finished& finished) noexcept;
  void settle(BatchCall& call, std::size_t items, std::exception_ptr why, std::size_t first_failed,
              Finished& finished) noexcept;
  void answer_calls(Lock& lock, Finished& finished) noexcept;
  static void answer_settled(Finished& finished) noexcept;
  template <class Wake>
  static BatchCall* release(Finished& finished, Wake&& wake) noexcept;
  static void answer(BatchCall* calls) noexcept;
  void queue_changed() noexcept;

  BatchPolicy policy_;  // its sizes may be set before the first call
  const std::shared_ptr<Clock> clock_;
  const BatchRunnerFactory make_runner_;
  std::size_t goal_;  // a queue of this size does not wait for more
  const std::uint64_t number_ = PredictArena::next_number();

  std::mutex mutex_;
  BatchQueue queue_;
  AdaptiveLinger linger_;
  std::unique_ptr<PredictArena> arena_{};  // made with the first thread
  std::vector<std::thread> workers_{};
  std::thread watch_{};
  std::shared_ptr<BatchObserver> observer_{};  // the observer of the latest sender
  std::size_t idle_workers_ = 0;               // workers that are not within predict
  std::size_t unanswered_ = 0;                 // calls accepted and not yet answered
  std::size_t blocked_ = 0;                    // senders that wait for room
  std::size_t guests_ = 0;                     // blocking calls that a stop token may still reach
  bool closing_ = false;
  bool finished_ = false;  // closing_, and everything is answered

  enum class Sleep { none, for_work, for_more };
  bool gathering_ = false;
  Sleep sleep_ = Sleep::none;  // state of the gathering worker
  time_point sleep_until_{};
  time_point watch_until_{};

  std::condition_variable work_{};          // the gathering worker waits on it
  std::condition_variable gather_turn_{};   // the other idle workers
  std::condition_variable watch_wake_{};    // the watch
  std::condition_variable room_{};          // blocked senders
  std::condition_variable all_answered_{};  // close and the destructor
  std::mutex join_mutex_{};
  std::atomic<std::uint64_t> parked_{0};  // items of blocking calls so far

  // Written under mutex_, read at any time.
  BatchRecorder recorder_;
  std::atomic<std::size_t> queued_{0};   // items: queue_.size()
  std::atomic<std::size_t> running_{0};  // items within predict
};

}  // namespace vcap::detail
