// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>

#include "vcap/base/export.hpp"
#include "vcap/batching/batch_policy.hpp"

/// The half of BatchExecutor that does not know its types: the queue, the threads, the policy.
/// Only BatchExecutor uses it.
namespace vcap::detail {

class BatchCall;
struct BatchLane;

/// One request as the queue sees it: a node that lies in the call that sends it, so that queueing
/// allocates nothing. The typed request derives from it and holds input and output.
/// Thread safety: its fields belong to the core's lock while queued, then to the worker.
struct BatchRequest {
  using time_point = BatchClock::time_point;
  enum class State : std::uint8_t { outside, queued, taken };

  /// Answers with a failure; the call hands it on.
  void fail(std::exception_ptr why) noexcept { error = std::move(why); }

  std::exception_ptr error{};

  BatchCall* call = nullptr;
  BatchRequest* next_of_call = nullptr;

  BatchRequest* older = nullptr;  // all requests of a priority, by arrival
  BatchRequest* newer = nullptr;
  BatchRequest* ahead = nullptr;  // the requests of one stream and priority, by arrival
  BatchRequest* behind = nullptr;
  BatchLane* lane = nullptr;
  std::uint64_t stream = 0;
  time_point arrival{};
  time_point deadline = time_point::max();
  std::size_t deadline_slot = 0;
  std::uint8_t level = 0;
  State state = State::outside;
};

/// What a caller sent at once: one request, or the many of run_all. The core calls answered()
/// exactly once for each call that it accepted, when all of its requests have been answered.
class VCAP_EXPORT BatchCall {
 public:
  BatchCall() = default;
  BatchCall(const BatchCall&) = delete;
  BatchCall& operator=(const BatchCall&) = delete;

  void add(BatchRequest& request) noexcept;

 protected:
  virtual ~BatchCall();
  /// May destroy the call. No lock is held. [any thread]
  virtual void answered() noexcept = 0;

 private:
  friend class BatchCoreImpl;
  struct Cancel {
    class BatchCoreImpl* core;
    BatchCall* call;
    VCAP_EXPORT void operator()() const noexcept;
  };

  BatchRequest* first_ = nullptr;
  BatchRequest* last_ = nullptr;
  std::size_t size_ = 0;
  std::size_t pending_ = 0;  // requests not yet answered; the core's lock guards it
  bool accepted_ = false;
  bool cancelled_ = false;
  BatchCall* next_finished_ = nullptr;
  std::optional<std::stop_callback<Cancel>> on_stop_{};
};

/// A call whose sender waits in place, on its own stack.
class VCAP_EXPORT BlockingBatchCall final : public BatchCall {
 public:
  BlockingBatchCall() = default;
  ~BlockingBatchCall() override;
  void wait() noexcept;

 private:
  void answered() noexcept override;

  std::mutex mutex_;
  std::condition_variable condition_;
  bool answered_ = false;
};

/// The typed half of a worker: predicts a batch and puts an output or an error into each request.
class VCAP_EXPORT BatchRunner {
 public:
  BatchRunner() = default;
  BatchRunner(const BatchRunner&) = delete;
  BatchRunner& operator=(const BatchRunner&) = delete;
  virtual ~BatchRunner();
  /// [dispatcher, in the executor's arena; one batch at a time for each runner]
  virtual void run(std::span<BatchRequest* const> batch) noexcept = 0;
};

/// One runner for each worker.
using BatchRunnerFactory = std::function<std::unique_ptr<BatchRunner>()>;

class BatchCoreImpl;

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
  /// Sends and waits until all of the call's requests are answered.
  void send_and_wait(BlockingBatchCall& call, const RequestOptions& options);
  void close(bool cancel_queued);
  std::size_t workload() const noexcept;

 private:
  std::unique_ptr<BatchCoreImpl> impl_;
};

[[nodiscard]] VCAP_EXPORT std::exception_ptr wrong_result_count(std::size_t results,
                                                                std::size_t inputs);

}  // namespace vcap::detail
