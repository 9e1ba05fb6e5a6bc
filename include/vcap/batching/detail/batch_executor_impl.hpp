// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vcap/batching/detail/batch_calls_impl.hpp"
#include "vcap/batching/detail/batch_runner_impl.hpp"

namespace vcap {
namespace detail {

/// For a predict that returns all outputs at once; checks their number.
template <class Output>
void add_all(std::vector<Output>&& from, std::size_t inputs, BatchOutputs<Output>& to) {
  if (from.size() != inputs) std::rethrow_exception(wrong_result_count(from.size(), inputs));
  for (std::size_t i = 0; i < inputs; ++i) to.add(std::move(from[i]));
}

}  // namespace detail

template <class Input, class Output>
BatchExecutor<Input, Output>::BatchExecutor(PredictEach predict, BatchPolicy policy, Key key)
    : predict_(std::move(predict)),
      key_(std::move(key)),
      core_(predict_ ? detail::BatchRunnerFactory([this, isolate = policy.isolate_failures] {
              return std::make_unique<Runner>(predict_, isolate);
            })
                     : nullptr,
            policy) {}

template <class Input, class Output>
BatchExecutor<Input, Output>::BatchExecutor(Predict predict, BatchPolicy policy, Key key)
    : BatchExecutor(
          predict ? PredictEach([predict = std::move(predict)](std::span<const Input> inputs,
                                                               BatchOutputs<Output>& outputs) {
            detail::add_all(predict(inputs), inputs.size(), outputs);
          })
                  : nullptr,
          std::move(policy), std::move(key)) {}

template <class Input, class Output>
std::future<Output> BatchExecutor<Input, Output>::submit(Input input, RequestOptions options) {
  const std::uint64_t key = key_of(input);
  auto call = FutureCall::make(std::move(input), key);
  std::future<Output> future = call->future();
  core_.send(*call, options);
  call.release();  // destroys itself when answered
  return future;
}

template <class Input, class Output>
std::optional<std::future<Output>> BatchExecutor<Input, Output>::try_submit(
    Input&& input, RequestOptions options) {
  if (!core_.has_room_for_one()) return std::nullopt;
  const std::uint64_t key = key_of(input);
  auto call = FutureCall::make(std::move(input), key);
  std::future<Output> future = call->future();
  try {
    core_.send_if_room(*call, options);
  } catch (const BatchError& error) {
    input = std::move(call->input());
    if (error.code() == ErrorCode::queue_full) return std::nullopt;
    throw;
  }
  call.release();
  return future;
}

template <class Input, class Output>
Output BatchExecutor<Input, Output>::run(Input input, RequestOptions options) {
  std::optional<Output> output;
  BlockingCall call(&input, &output);
  call.add_runs({&input, 1}, [this](const Input& one) { return key_of(one); });
  call.send_to(core_, options);
  return std::move(*output);
}

template <class Input, class Output>
std::vector<Output> BatchExecutor<Input, Output>::run_all(std::vector<Input> inputs,
                                                          RequestOptions options) {
  std::vector<Output> results;
  if (inputs.empty()) return results;
  results.reserve(inputs.size());
  std::vector<std::optional<Output>> outputs(inputs.size());
  BlockingCall call(inputs.data(), outputs.data());
  call.add_runs(inputs, [this](const Input& input) { return key_of(input); });
  call.send_to(core_, options);
  for (std::optional<Output>& output : outputs) results.push_back(std::move(*output));
  return results;
}

}  // namespace vcap
