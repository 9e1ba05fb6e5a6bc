// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <any>
#include <cstdint>
#include <future>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "vcap/batching/batch_executor.hpp"
#include "vcap/capsule/backend.hpp"

namespace vcap {

/// A backend that gathers requests from all frames of all streams into batches.
///
/// Authors derive from it, call send_to_batch, predict or predict_all within process_frame, and
/// override batch_predict. A backend that never sends requests starts no thread. Thread safety:
/// send_to_batch, predict, predict_all and workload are thread-safe.
template <class Input = std::any, class Output = std::any>
class BaseBackend : public Backend {
 public:
  explicit BaseBackend(BatchPolicy policy = {})
      : executor_([this](std::span<const Input> inputs,
                         BatchOutputs<Output>& outputs) { batch_predict_each(inputs, outputs); },
                  std::move(policy), [this](const Input& input) { return batch_key(input); }) {}

  /// Runs the model on a batch and gives one output for each input, in order. If it throws, or the
  /// number of outputs is wrong, it is called again with parts of the batch, to find the requests
  /// that fail by themselves (BatchPolicy::isolate_failures). Only these throw what it threw, or
  /// BatchError (batch_result_count). [dispatcher or leader, one at a time unless the policy
  /// asks for more workers]
  virtual std::vector<Output> batch_predict(std::span<const Input> inputs) = 0;

  /// Like batch_predict, but adds outputs one by one; see BaseStreamingBackend. [dispatcher or
  /// leader, as batch_predict]
  virtual void batch_predict_each(std::span<const Input> inputs, BatchOutputs<Output>& outputs) {
    detail::add_all(batch_predict(inputs), inputs.size(), outputs);
  }
  /// Inputs with equal keys may share a batch. Override it if, for example, the model takes only
  /// images of one size at a time. Meant for tens of keys. Thread-safe.
  virtual std::uint64_t batch_key(const Input&) const { return 0; }

  /// Queues one input; the future gives its output or throws its error. Throws BatchError (closed,
  /// queue_full) if the request is not accepted. Blocks only if the policy has a queue bound and
  /// the queue is full.
  std::future<Output> send_to_batch(Input input, RequestOptions options = {}) {
    return executor_.submit(std::move(input), std::move(options));
  }
  /// Sends one input and waits for its output, without allocation. May run the batch in this
  /// thread.
  Output predict(Input input, RequestOptions options = {}) {
    return executor_.run(std::move(input), std::move(options));
  }
  /// Returns all outputs, in order; for the many crops of one frame. Throws the error of the first
  /// failed input.
  std::vector<Output> predict_all(std::vector<Input> inputs, RequestOptions options = {}) {
    return executor_.run_all(std::move(inputs), std::move(options));
  }

  double workload() const noexcept override { return static_cast<double>(executor_.workload()); }
  std::optional<BatchStatistics> batch_statistics() const override {
    return executor_.statistics();
  }
  void set_batch_sizes(const BatchSizes& sizes) final { executor_.set_batch_sizes(sizes); }
  void drain() final { executor_.close(); }

 private:
  BatchExecutor<Input, Output> executor_;
};

/// A BaseBackend whose model gives its outputs one after the other: authors override
/// batch_predict_each instead of batch_predict. If it throws midway, the outputs added so far are
/// kept, and only the input that it threw at fails (BatchPolicy::isolate_failures). Thread safety:
/// as BaseBackend.
template <class Input = std::any, class Output = std::any>
class BaseStreamingBackend : public BaseBackend<Input, Output> {
 public:
  using BaseBackend<Input, Output>::BaseBackend;

  /// [dispatcher or leader, one at a time unless the policy asks for more workers]
  void batch_predict_each(std::span<const Input> inputs,
                          BatchOutputs<Output>& outputs) override = 0;

  /// Collects the outputs of batch_predict_each, for callers that want a whole batch, such as
  /// tests.
  std::vector<Output> batch_predict(std::span<const Input> inputs) final {
    struct All final : BatchOutputs<Output> {
      void add(Output&& output) override { list.push_back(std::move(output)); }
      std::size_t size() const noexcept override { return list.size(); }
      std::vector<Output> list{};
    } all;
    batch_predict_each(inputs, all);
    return std::move(all.list);
  }
};

}  // namespace vcap
