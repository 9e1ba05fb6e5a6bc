// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "vcap/batching/batch_policy.hpp"
#include "vcap/batching/detail/batch_core.hpp"

namespace vcap {

/// What close() does with requests that are still queued.
enum class CloseMode {
  drain,  ///< predicts them
  cancel  ///< fails them with BatchError (closed); a running batch is finished
};

/// Takes the outputs of a batch one by one, in the order of its inputs. The executor makes one for
/// each call of predict; only the thread that runs this call may use it.
template <class Output>
class BatchOutputs {
 public:
  /// Adds the output of the next input. Throws BatchError (batch_result_count) if there is no next
  /// input.
  virtual void add(Output&& output) = 0;
  /// The number of outputs so far, which is the index of the next input.
  virtual std::size_t size() const noexcept = 0;

 protected:
  ~BatchOutputs() = default;
};

/// Gathers requests of many threads into batches and runs them.
///
/// Every accepted request is answered exactly once: with its output, with the exception of predict,
/// or with BatchError: batch_result_count, deadline_exceeded, cancelled, queue_full (dropped),
/// closed. BaseBackend makes and owns one; other code with work that runs better in batches can do
/// so too. A batch is predicted by a thread of the executor (dispatcher), or by a caller of run()
/// or run_all() whose inputs it contains (leader). Threads start when a request first needs them;
/// an idle executor sleeps without a timer. predict must not send to its own executor, which would
/// be a deadlock; this throws BatchError (reentrant_submit). Thread safety: thread-safe. The
/// destructor drains. It may run while callers wait for answers, but not while new requests arrive.
template <class Input, class Output>
class BatchExecutor {
  static_assert(std::move_constructible<Input> && std::is_object_v<Input>);
  static_assert(std::move_constructible<Output> && std::is_object_v<Output>,
                "Output is what predict gives for one input; if there is nothing to give, use "
                "std::monostate");
  static_assert(!std::same_as<Input, bool>,
                "std::vector<bool> has no bool elements for a span; use std::uint8_t");

 public:
  /// Gives one output for each input, in order. Its parallel loops run in the executor's own arena.
  /// [dispatcher or leader, one at a time unless the policy asks for more workers]
  using Predict = std::function<std::vector<Output>(std::span<const Input>)>;
  /// Like Predict, but adds outputs one by one. If it throws midway, the outputs added so far are
  /// kept, and only the input that it threw at fails; without BatchPolicy::isolate_failures, all
  /// remaining inputs fail. Callers are answered when it returns.
  using PredictEach = std::function<void(std::span<const Input>, BatchOutputs<Output>&)>;
  /// Inputs with equal keys may share a batch, such as images of one size. Empty: all inputs may.
  /// Meant for tens of keys at a time. Its exceptions go to the sender. [the sender's thread]
  using Key = std::function<std::uint64_t(const Input&)>;

  /// Throws InvalidArgument if validate() refuses the policy, or if predict is empty.
  explicit BatchExecutor(Predict predict, BatchPolicy policy = {}, Key key = {});
  explicit BatchExecutor(PredictEach predict, BatchPolicy policy = {}, Key key = {});
  ~BatchExecutor() = default;
  BatchExecutor(const BatchExecutor&) = delete;
  BatchExecutor& operator=(const BatchExecutor&) = delete;

  /// Queues one input; the future gives its output or throws its error. Throws BatchError (closed,
  /// queue_full, reentrant_submit) if the request is not accepted. Blocks only if the queue is full
  /// and the policy is QueueOverflowPolicy::wait.
  std::future<Output> submit(Input input, RequestOptions options = {});
  /// Like submit(), but never waits. If the queue is full, returns `nullopt` and leaves the input
  /// unchanged, for every BatchPolicy::overflow. This is far cheaper than an exception. For callers
  /// that shed load.
  std::optional<std::future<Output>> try_submit(Input&& input, RequestOptions options = {});
  /// Submits and waits, without allocation. May predict the batch in this thread. Never call it on
  /// a TBB worker.
  Output run(Input input, RequestOptions options = {});
  /// Returns all outputs, in order, with at most one wake-up for all. Returns or throws once all
  /// are answered; throws the error of the first failed input. May predict batches in this thread.
  /// Never call it on a TBB worker.
  std::vector<Output> run_all(std::vector<Input> inputs, RequestOptions options = {});

  /// Replaces the policy's batch sizes. Must be called before the first request. Throws
  /// InvalidArgument for sizes that validate() would refuse.
  void set_batch_sizes(const BatchSizes& sizes) { core_.set_batch_sizes(sizes); }

  /// Stops accepting requests, answers all accepted ones, and ends the threads. Idempotent; a
  /// repeated call waits like the first. Throws BatchError (reentrant_submit) if called within
  /// predict.
  void close(CloseMode mode = CloseMode::drain) { core_.close(mode == CloseMode::cancel); }

  /// The number of items queued or running. Never blocks.
  std::size_t workload() const noexcept { return core_.workload(); }
  /// Counts since construction. Never blocks; copies some 50 kB.
  BatchStatistics statistics() const { return core_.statistics(); }

 private:
  class Call;
  class FutureCall;
  class BlockingCall;
  class Runner;

  std::uint64_t key_of(const Input& input) const { return key_ ? key_(input) : 0; }

  const PredictEach predict_;
  const Key key_;
  detail::BatchCore core_;
};

}  // namespace vcap

#include "vcap/batching/detail/batch_executor_impl.hpp"
