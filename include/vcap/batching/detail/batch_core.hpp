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

#include "vcap/base/clock.hpp"
#include "vcap/base/export.hpp"
#include "vcap/batching/batch_policy.hpp"
#include "vcap/batching/batch_sizes.hpp"
#include "vcap/batching/batch_statistics.hpp"

/// The part of BatchExecutor that does not depend on its types: the queue, the threads, the policy.
/// Only BatchExecutor uses it.
namespace vcap::detail {

class BatchCall;
class BatchCoreImpl;
class ParkingLot;
struct BatchGroup;
struct BatchLane;

/// Consecutive items of one call that may share a batch. It is an intrusive node of the queue:
/// queueing does not allocate, and many items cost as much as one. Items are numbered within their
/// call. Items [next, end) are queued, items before `next` are taken, and items from `end` to
/// `limit` had no room yet. Thread safety: once the chunk is sent, the core's lock guards its
/// fields.
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

  BatchChunk* older = nullptr;  // all chunks of one group and priority, by arrival
  BatchChunk* newer = nullptr;
  BatchChunk* behind = nullptr;  // the chunks of one lane, by arrival
  BatchChunk* ahead = nullptr;
  BatchLane* lane = nullptr;
  std::size_t deadline_slot = 0;
};

/// What a caller sends in one call: one item, or all items of run_all. Once every item is answered,
/// the core wakes the sender that waits, or calls answered(), or the sender has predicted the last
/// item itself. Exactly one of these happens, once, for each accepted call.
class VCAP_EXPORT BatchCall {
 public:
  BatchCall() = default;
  BatchCall(const BatchCall&) = delete;
  BatchCall& operator=(const BatchCall&) = delete;

  /// Adds the call's next `count` items, all with `key`. The chunk must live as long as the call.
  void add(BatchChunk& chunk, std::size_t count, std::uint64_t key) noexcept;

 protected:
  virtual ~BatchCall();
  /// May destroy the call. Not called if the sender waits. No lock is held. [any thread]
  virtual void answered() noexcept {}

  /// The error of the first failed item; null if all items have outputs.
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
  std::size_t pending_ = 0;  // items not yet answered; guarded by the core's lock
  std::size_t failed_ = 0;   // index of the item whose error is error_
  bool accepted_ = false;
  bool cancelled_ = false;
  bool leads_ = false;                  // its sender predicts; guarded by the core's lock
  ParkingLot* parking_ = nullptr;       // where the sender waits, if it does
  std::atomic<std::uint32_t> open_{0};  // 1: the sender may return, which destroys the call
  BatchCall* next_finished_ = nullptr;
  std::optional<std::stop_callback<Cancel>> on_stop_{};
};

/// Consecutive items of one call within a batch.
struct BatchSlice {
  /// Records why an item has no output; keeps the error of the item with the lowest index.
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
  std::size_t failures = 0;  // number of items without an output
};

/// The typed part of a worker: predicts a batch, writes outputs into its calls and errors into its
/// slices.
class VCAP_EXPORT BatchRunner {
 public:
  BatchRunner() = default;
  BatchRunner(const BatchRunner&) = delete;
  BatchRunner& operator=(const BatchRunner&) = delete;
  virtual ~BatchRunner();
  /// [dispatcher or leader, in the executor's arena; one batch at a time for each runner]
  virtual void run(std::span<BatchSlice> batch) noexcept = 0;
};

/// Makes one runner for each batch that may run at once.
using BatchRunnerFactory = std::function<std::unique_ptr<BatchRunner>()>;

/// The state machine. Thread safety: thread-safe.
class VCAP_EXPORT BatchCore {
 public:
  BatchCore(BatchRunnerFactory make_runner, BatchPolicy policy);
  ~BatchCore();
  BatchCore(const BatchCore&) = delete;
  BatchCore& operator=(const BatchCore&) = delete;

  /// Accepts the call and later calls answered(), possibly before this returns. If this throws, the
  /// call is not accepted and the caller must destroy it.
  void send(BatchCall& call, const RequestOptions& options);
  /// Like send(), but throws BatchError (queue_full) if the queue is full, under every policy.
  void send_if_room(BatchCall& call, const RequestOptions& options);
  /// Checks without the lock. If there is no room, counts one item as rejected.
  bool has_room_for_one() noexcept;
  /// Sends, and waits until all of the call's items are answered. May predict in this thread.
  void send_and_wait(BatchCall& call, const RequestOptions& options);
  /// Must be called before the first call is sent.
  void set_batch_sizes(const BatchSizes& sizes);
  void close(bool cancel_queued);
  std::size_t workload() const noexcept;
  BatchStatistics statistics() const;

 private:
  std::unique_ptr<BatchCoreImpl> impl_;
};

[[nodiscard]] VCAP_EXPORT std::exception_ptr wrong_result_count(std::size_t results,
                                                                std::size_t inputs);

/// Memory for a future's shared state, next to the call that fulfils it. One allocation replaces
/// the three that std::promise and the call would make. The last user frees it. Thread safety:
/// allocate() is thread-compatible, the rest is thread-safe.
class VCAP_EXPORT FutureMemory {
 public:
  /// Starts with one user: the call.
  explicit FutureMemory(std::span<std::byte> space) noexcept : space_(space) {}
  FutureMemory(const FutureMemory&) = delete;
  FutureMemory& operator=(const FutureMemory&) = delete;

  /// Allocates from the space if the piece fits, else from the heap; adds one user.
  void* allocate(std::size_t size, std::size_t alignment);
  /// Frees a piece and removes one user. True if it was the last user.
  [[nodiscard]] bool deallocate(void* piece, std::size_t alignment) noexcept;
  /// Removes the call as a user. True if it was the last user.
  [[nodiscard]] bool release() noexcept;

 private:
  const std::span<std::byte> space_;
  std::size_t used_ = 0;
  std::atomic<std::size_t> users_{1};
};

}  // namespace vcap::detail
