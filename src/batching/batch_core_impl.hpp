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
#include "batching/batch_queue.hpp"
#include "batching/predict_arena.hpp"
#include "vcap/base/error.hpp"
#include "vcap/batching/batch_core.hpp"

namespace vcap::detail {

/// The state machine of BatchExecutor.
///
/// A request is outside, queued, or taken; each step is made under mutex_, by whoever makes it:
///
///     outside → queued   its sender
///     queued  → taken    a worker (for a batch), the watch (deadline passed), whoever asks the
///                        stop token, a sender (drop_oldest), close (cancel)
///
/// Whoever takes it answers it, by its own error or by predict, then counts it off its call under
/// mutex_; whoever counts off a call's last request tells the call, without the lock, and only
/// then counts the call off unanswered_. So close() has waited for every answer when that is 0.
///
/// Threads: up to policy.workers workers, of which one at a time gathers a batch while the others
/// predict or wait for the gathering; and one watch for deadlines. Each starts when it is first
/// needed and sleeps without a timer while there is nothing to wait for.
class BatchCoreImpl {
 public:
  using time_point = BatchClock::time_point;

  BatchCoreImpl(BatchRunnerFactory make_runner, BatchPolicy policy);
  ~BatchCoreImpl();
  BatchCoreImpl(const BatchCoreImpl&) = delete;
  BatchCoreImpl& operator=(const BatchCoreImpl&) = delete;

  void send(BatchCall& call, const RequestOptions& options);
  void send_and_wait(BlockingBatchCall& call, const RequestOptions& options);
  void close(bool cancel_queued);
  void cancel(BatchCall& call) noexcept;
  std::size_t workload() const noexcept { return workload_.load(std::memory_order_relaxed); }

 private:
  using Lock = std::unique_lock<std::mutex>;

  /// Calls whose last request has been answered, to be told so.
  struct Finished {
    BatchCall* first = nullptr;
    BatchCall* last = nullptr;
    std::size_t count = 0;
  };

  // Senders.
  void prepare(BatchCall& call, const RequestOptions& options);
  [[nodiscard]] bool enqueue(Lock& lock, BatchCall& call);
  void admit(Lock& lock, BatchCall& call, time_point& now, Finished& finished);
  bool full() const noexcept;
  std::exception_ptr make_room(Lock& lock, const BatchRequest& request, time_point& now,
                               Finished& finished);
  void start_threads(const BatchRequest& request);
  void start_worker();
  bool wake_worker(time_point now) noexcept;

  // Workers.
  void work(BatchRunner& runner);
  bool gather(Lock& lock);
  std::optional<time_point> hold_until(time_point now) const noexcept;
  void take_batch(std::vector<BatchRequest*>& batch, Finished& finished);
  std::size_t batch_size() const noexcept;
  void watch();
  void expire(time_point now, Finished& finished);

  // Answers.
  void fail_queued(BatchRequest& request, std::exception_ptr why, Finished& finished) noexcept;
  static void count_off(BatchRequest& request, Finished& finished) noexcept;
  void tell(Lock& lock, Finished& finished) noexcept;
  void queue_changed() noexcept;

  const BatchPolicy policy_;
  const std::shared_ptr<BatchClock> clock_;
  const BatchRunnerFactory make_runner_;
  const std::size_t goal_;  // a queue of this size waits for no more
  const std::uint64_t number_ = PredictArena::next_number();

  std::mutex mutex_;
  BatchQueue queue_;
  AdaptiveLinger linger_;
  std::unique_ptr<PredictArena> arena_{};  // made with the first thread
  std::vector<std::thread> workers_{};
  std::thread watch_{};
  std::size_t idle_workers_ = 0;  // that predict nothing at present
  std::size_t running_ = 0;       // requests within predict
  std::size_t unanswered_ = 0;    // calls accepted and not yet told
  std::size_t blocked_ = 0;       // senders that wait for room
  std::size_t guests_ = 0;        // blocking calls that a stop token may still reach
  bool closing_ = false;
  bool finished_ = false;  // closing_, and all is answered

  enum class Sleep { none, for_work, for_more };
  bool gathering_ = false;
  Sleep sleep_ = Sleep::none;  // the gathering worker's
  time_point sleep_until_{};
  time_point watch_until_{};

  std::condition_variable work_{};          // the gathering worker waits on it
  std::condition_variable gather_turn_{};   // the other idle workers
  std::condition_variable watch_wake_{};    // the watch
  std::condition_variable room_{};          // blocked senders
  std::condition_variable all_answered_{};  // close and the destructor
  std::mutex join_mutex_{};
  std::atomic<std::size_t> workload_{0};
};

}  // namespace vcap::detail
