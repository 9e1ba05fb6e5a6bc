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

#include "vcap/batching/batch_core.hpp"
#include "vcap/batching/batch_policy.hpp"

namespace vcap {

/// What close() does with the requests that still wait.
enum class CloseMode {
  drain,  ///< predicts them
  cancel  ///< fails them with BatchError (closed); a batch that runs is finished
};

/// Takes the outputs of a batch one by one, in the order of its inputs. Made by the executor for
/// one predict, whose thread alone may use it.
template <class Output>
class BatchOutputs {
 public:
  /// The output of the next input. Throws BatchError (batch_result_count) where there is none.
  virtual void add(Output&& output) = 0;
  /// How many there are so far; the number of the input that comes next.
  virtual std::size_t size() const noexcept = 0;

 protected:
  ~BatchOutputs() = default;
};

/// Gathers requests of many threads into batches and runs them.
///
/// Every accepted request is answered exactly once, whatever happens: with its own output, with
/// what predict threw, or with BatchError: batch_result_count, deadline_exceeded, cancelled,
/// queue_full (dropped), closed. Made and owned by BaseBackend, or by anyone who has work that
/// runs better in batches. Threads start with the first request; an idle executor sleeps without
/// a timer. predict must not send to its own executor: that is refused with BatchError
/// (reentrant_submit), since the answer could never come. Thread safety: thread-safe; the
/// destructor drains, and may run while callers wait in it, but not while new ones come.
template <class Input, class Output>
class BatchExecutor {
  static_assert(std::move_constructible<Input> && std::is_object_v<Input>);
  static_assert(std::move_constructible<Output> && std::is_object_v<Output>,
                "Output is what predict gives for one input; where there is nothing to give, use "
                "std::monostate");
  static_assert(!std::same_as<Input, bool>,
                "std::vector<bool> holds no bool that a span could show; use std::uint8_t");

 public:
  /// One output for each input, in order. Its parallel loops run in the executor's own arena.
  /// [dispatcher, one at a time unless the policy asks for more workers]
  using Predict = std::function<std::vector<Output>(std::span<const Input>)>;
  /// The same one by one: where it throws midway, the outputs that it has added are kept, and only
  /// the inputs behind them fail; with BatchPolicy::isolate_failures only the one that it threw at.
  /// Callers are answered when it returns.
  using PredictEach = std::function<void(std::span<const Input>, BatchOutputs<Output>&)>;
  /// Which inputs may share a batch: those of one key, such as the size of an image. Empty: all.
  /// Meant for tens of keys at a time. What it throws, the sender gets. [the sender's thread]
  using Key = std::function<std::uint64_t(const Input&)>;

  /// Throws InvalidArgument for a policy that validate() refuses, or where predict is empty.
  explicit BatchExecutor(Predict predict, BatchPolicy policy = {}, Key key = {});
  explicit BatchExecutor(PredictEach predict, BatchPolicy policy = {}, Key key = {});
  ~BatchExecutor() = default;
  BatchExecutor(const BatchExecutor&) = delete;
  BatchExecutor& operator=(const BatchExecutor&) = delete;

  /// Queues one input; the future gives its output, or throws what failed. Throws BatchError
  /// (closed, queue_full, reentrant_submit) where it is not accepted. Blocks only where the queue
  /// has a bound and the policy says so.
  std::future<Output> submit(Input input, RequestOptions options = {});
  /// As submit, but never waits: gives nothing, and leaves the input as it was, where the queue is
  /// full; whatever BatchPolicy::when_full says, and far cheaper than what it throws. For callers
  /// who shed load.
  std::optional<std::future<Output>> try_submit(Input&& input, RequestOptions options = {});
  /// submit fused with its wait, without allocation. Never call it on a TBB worker.
  Output run(Input input, RequestOptions options = {});
  /// All outputs, in order, with one wake-up for all. Returns or throws when all are answered;
  /// throws what the first failed one threw. Never call it on a TBB worker.
  std::vector<Output> run_all(std::vector<Input> inputs, RequestOptions options = {});

  /// Has batches of these sizes in place of the policy's. Before the first request. Throws
  /// InvalidArgument for sizes that validate() would refuse.
  void set_batch_sizes(const BatchSizes& sizes) { core_.set_batch_sizes(sizes); }

  /// Takes no more, answers all that was accepted, ends the threads. Again: waits as the first.
  /// Throws BatchError (reentrant_submit) within predict.
  void close(CloseMode mode = CloseMode::drain) { core_.close(mode == CloseMode::cancel); }

  /// Items that wait or run. Never blocks.
  std::size_t workload() const noexcept { return core_.workload(); }
  /// What has been done so far. Never blocks; copies some 50 kB.
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

#include "vcap/batching/batch_executor_impl.hpp"
