// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <any>
#include <future>
#include <span>
#include <utility>
#include <vector>

#include "vcap/batching/batch_executor.hpp"
#include "vcap/capsule/backend.hpp"

namespace vcap {

/// A backend whose requests, from all frames of all streams, are gathered into batches.
///
/// Authors derive from it, call send_to_batch, predict or predict_all within process_frame, and
/// override batch_predict. A backend that never sends costs no thread. Thread safety:
/// send_to_batch, predict, predict_all and workload are thread-safe.
template <class Input = std::any, class Output = std::any>
class BaseBackend : public Backend {
 public:
  explicit BaseBackend(BatchPolicy policy = {})
      : executor_([this](std::span<const Input> inputs) { return batch_predict(inputs); },
                  std::move(policy)) {}

  /// Runs the model on a batch: one output for each input, in order; another count fails the
  /// batch's requests with BatchError (batch_result_count). What it throws, they throw.
  /// [dispatcher, one at a time unless the policy asks for more workers]
  virtual std::vector<Output> batch_predict(std::span<const Input> inputs) = 0;

  /// Queues one input; the future gives its output, or throws what failed. Throws BatchError
  /// (closed, queue_full) where it is not accepted. Blocks only at a policy's queue bound.
  std::future<Output> send_to_batch(Input input, RequestOptions options = {}) {
    return executor_.submit(std::move(input), std::move(options));
  }
  /// send_to_batch fused with its wait, without allocation.
  Output predict(Input input, RequestOptions options = {}) {
    return executor_.run(std::move(input), std::move(options));
  }
  /// All outputs, in order; for one frame's many crops. Throws what the first failed one threw.
  std::vector<Output> predict_all(std::vector<Input> inputs, RequestOptions options = {}) {
    return executor_.run_all(std::move(inputs), std::move(options));
  }

  double workload() const noexcept override { return static_cast<double>(executor_.workload()); }
  void drain() final { executor_.close(); }

 private:
  BatchExecutor<Input, Output> executor_;
};

}  // namespace vcap
