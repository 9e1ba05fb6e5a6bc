// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <span>
#include <vector>

#include "vcap/batching/batch_policy.hpp"

namespace vcap {

/// Gathers requests of many threads into batches and runs them.
template <class Input, class Output>
class BatchExecutor {
 public:
  /// One output for each input, in order. [dispatcher]
  using Predict = std::function<std::vector<Output>(std::span<const Input>)>;

  explicit BatchExecutor(Predict predict, BatchPolicy policy = {});
  ~BatchExecutor();

  std::future<Output> submit(Input input, RequestOptions options = {});
  Output run(Input input, RequestOptions options = {});
  std::vector<Output> run_all(std::vector<Input> inputs, RequestOptions options = {});
  void close();
  std::size_t workload() const noexcept;
};

}  // namespace vcap
