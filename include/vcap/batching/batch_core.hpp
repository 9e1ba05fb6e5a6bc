// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>

#include "vcap/base/export.hpp"
#include "vcap/batching/batch_policy.hpp"
#include "vcap/batching/batch_statistics.hpp"

/// The half of BatchExecutor that does not know its types: the queue, the threads, the policy.
/// Only BatchExecutor uses it.
namespace vcap::detail {

class BatchCall;
class BatchCoreImpl;
class BatchParking;
struct BatchGroup;
struct BatchLane;

/// Items of one call that may share a batch: the node that the queue links, so that queueing
/// allocates nothing, and many items cost what one does. The call numbers its items; of these,
/// [next, end) wait in the queue, those before are taken, and those up to `limit` have found no
/// room yet. Thread safety: its fields belong to the core's lock once it is sent.
struct BatchChunk {
  using time_point = Clock::time_point;

  bool queued() const noexcept { return next < end; }

  BatchCall* call = nullptr;
  BatchChunk* next_of_call = nullptr;
  std::size_t next = 0;
  std::size_t end = 0;
  std::size_t limit = 0;

  std::uint64_t key = 0;
  std::uint64_t stream = 0;
  time_point arrival{};
  time_point deadline = time_point::max();
  std::uint8_t level = 0;

  BatchChunk* older = nullptr;  // all chunks of a group and priority, by arrival
  BatchChunk* newer = nullptr;
  BatchChunk* behind = nullptr;  // the chunks of one lane, by arrival
  BatchChunk* ahead = nullptr;
  BatchLane* lane = nullptr;
  std::size_t deadline_slot = 0;
};

/// What a caller sent at once: one item, or the many of run_all. When all of its items have been
/// answered, the core either lets go the sender who waits for it in place, or calls answered();
/// exactly once for each call that it accepted.
class VCAP_EXPORT BatchCall {
 public:
  BatchCall() = default;
  BatchCall(const BatchCall&) = delete;
  BatchCall& operator=(const BatchCall&) = delete;

  /// The call's next `count` items, all of `key`. The chunk lives as long as the call.
  void add(BatchChunk& chunk, std::size_t count, std::uint64_t key) noexcept;

 protected:
  virtual ~BatchCall();
  /// May destroy the call. Not called where the sender waits. No lock is held. [any thread]
  virtual void answered() noexcept {}

  /// What the first failed item failed with; null where all have outputs.
  std::exception_ptr error_{};

 private:
  friend class BatchCoreImpl;
  struct Cancel {
    BatchCoreImpl* core;
    BatchCall* call;
    VCAP_EXPORT void operator()() const noexcept;
  };

  void settle(std::size_t items, std::exception_ptr why, std::size_t first_failed) noexcept;

  BatchChunk* first_ = nullptr;
  BatchChunk* last_ = nullptr;
  std::size_t size_ = 0;
  std::size_t pending_ = 0;  // items not yet answered; the core's lock guards it
  std::size_t failed_ = 0;   // the item that error_ is of
  bool accepted_ = false;
  bool cancelled_ = false;
  BatchParking* parking_ = nullptr;     // where the sender waits, if it does
  std::atomic<std::uint32_t> open_{0};  // 1: the sender may go, and with it the call
  BatchCall* next_finished_ = nullptr;
  std::optional<std::stop_callback<Cancel>> on_stop_{};
};

/// Items of one call within a batch.
struct BatchSlice {
  /// Notes why an item has no output; the first item's reason stays.
  void fail(std::size_t item, std::exception_ptr why) noexcept {
    if (error && item >= failed) return;
    error = std::move(why);
    failed = item;
  }

  BatchCall* call;
  std::size_t begin;
  std::size_t end;
  std::exception_ptr error{};
  std::size_t failed = 0;
  std::size_t failures = 0;  // how many items have no output
};

/// The typed half of a worker: predicts a batch, puts outputs into its calls and errors into its
/// slices.
class VCAP_EXPORT BatchRunner {
 public:
  BatchRunner() = default;
  BatchRunner(const BatchRunner&) = delete;
  BatchRunner& operator=(const BatchRunner&) = delete;
  virtual ~BatchRunner();
  /// [dispatcher, in the executor's arena; one batch at a time for each runner]
  virtual void run(std::span<BatchSlice> batch) noexcept = 0;
};

/// One runner for each worker.
using BatchRunnerFactory = std::function<std::unique_ptr<BatchRunner>()>;

/// The state machine. Thread safety: thread-safe.
class VCAP_EXPORT BatchCore {
 public:
  BatchCore(BatchRunnerFactory make_runner, BatchPolicy policy);
  ~BatchCore();
  BatchCore(const BatchCore&) = delete;
  BatchCore& operator=(const BatchCore&) = delete;

  /// Takes the call, or throws and leaves it to the caller, who then destroys it. Where it was
  /// taken, the core has called or will call answered().
  void send(BatchCall& call, const RequestOptions& options);
  /// As send, whatever the policy says of a full queue: throws BatchError (queue_full) there.
  void send_if_room(BatchCall& call, const RequestOptions& options);
  /// A look without the lock. Where it finds no room, one item counts as rejected.
  bool has_room_for_one() noexcept;
  /// Sends, and waits until all of the call's items are answered.
  void send_and_wait(BatchCall& call, const RequestOptions& options);
  /// Before the first call.
  void set_batch_sizes(const BatchSizes& sizes);
  void close(bool cancel_queued);
  std::size_t workload() const noexcept;
  BatchStatistics statistics() const;

 private:
  std::unique_ptr<BatchCoreImpl> impl_;
};

[[nodiscard]] VCAP_EXPORT std::exception_ptr wrong_result_count(std::size_t results,
                                                                std::size_t inputs);

/// Memory for a future's shared state beside the call that fulfils it: one allocation for what
/// std::promise and the call would make three of, given back by whoever lets go last.
/// Thread safety: allocate is thread-compatible, the rest is thread-safe.
class VCAP_EXPORT FutureMemory {
 public:
  /// Has one user: the call.
  explicit FutureMemory(std::span<std::byte> space) noexcept : space_(space) {}
  FutureMemory(const FutureMemory&) = delete;
  FutureMemory& operator=(const FutureMemory&) = delete;

  /// A piece out of the space where it fits, else from the heap; one user more.
  void* allocate(std::size_t size, std::size_t alignment);
  /// Gives a piece back. True: that was the last user.
  [[nodiscard]] bool deallocate(void* piece, std::size_t alignment) noexcept;
  /// The call lets go. True: that was the last user.
  [[nodiscard]] bool release() noexcept;

 private:
  const std::span<std::byte> space_;
  std::size_t used_ = 0;
  std::atomic<std::size_t> users_{1};
};

}  // namespace vcap::detail
