// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <forward_list>

#include "vcap/base/error.hpp"
#include "vcap/batching/batch_executor.hpp"

namespace vcap {
namespace detail {

/// For a predict that returns all outputs at once; checks their number.
template <class Output>
void add_all(std::vector<Output>&& from, std::size_t inputs, BatchOutputs<Output>& to) {
  if (from.size() != inputs) std::rethrow_exception(wrong_result_count(from.size(), inputs));
  for (std::size_t i = 0; i < inputs; ++i) to.add(std::move(from[i]));
}

}  // namespace detail

/// Points to the items of a call: inputs until a batch takes them, outputs once the batch is
/// predicted.
template <class Input, class Output>
class BatchExecutor<Input, Output>::Call : public detail::BatchCall {
 public:
  Call(Input* first_input, std::optional<Output>* first_output) noexcept
      : inputs(first_input), outputs(first_output) {}

  Input* const inputs;
  std::optional<Output>* const outputs;

 protected:
  ~Call() override = default;
};

/// A request whose sender holds a future. It lives on the heap, in one piece of memory with the
/// future's shared state, and destroys itself when answered.
template <class Input, class Output>
class BatchExecutor<Input, Output>::FutureCall final : public Call {
 public:
  struct Destroy {
    void operator()(FutureCall* call) const noexcept { call->destroy(); }
  };
  using Pointer = std::unique_ptr<FutureCall, Destroy>;

  static Pointer make(Input&& input, std::uint64_t key) {
    auto block = std::make_unique<Block>();
    ::new (&block->call) FutureCall(*block, std::move(input), key);
    return Pointer(&block.release()->call);
  }

  std::future<Output> future() { return promise_.get_future(); }
  /// For a caller whose call was not accepted.
  Input& input() noexcept { return input_; }

 private:
  struct Block {
    Block() {}   // NOLINT: the call is made later
    ~Block() {}  // NOLINT: and destroyed before

    alignas(std::max_align_t) std::array<std::byte, 160 + sizeof(Output)> space;
    detail::FutureMemory memory{space};
    union {
      FutureCall call;
    };
  };

  /// Allocates the future's shared state.
  template <class Value>
  struct Allocator {
    using value_type = Value;

    explicit Allocator(Block* of) noexcept : block(of) {}
    template <class Other>
    Allocator(const Allocator<Other>& other) noexcept : block(other.block) {}

    Value* allocate(std::size_t count) {
      return static_cast<Value*>(block->memory.allocate(count * sizeof(Value), alignof(Value)));
    }
    void deallocate(Value* piece, std::size_t) noexcept {
      if (block->memory.deallocate(piece, alignof(Value))) delete block;
    }
    template <class Other>
    bool operator==(const Allocator<Other>& other) const noexcept {
      return block == other.block;
    }

    Block* block;
  };

  FutureCall(Block& block, Input&& input, std::uint64_t key)
      : Call(&input_, &output_),
        block_(block),
        input_(std::move(input)),
        promise_(std::allocator_arg, Allocator<std::byte>(&block)) {
    this->add(chunk_, 1, key);
  }
  ~FutureCall() override = default;

  void destroy() noexcept {
    Block& block = block_;
    this->~FutureCall();
    if (block.memory.release()) delete &block;
  }

  void answered() noexcept override {
    try {
      if (this->error_)
        promise_.set_exception(std::move(this->error_));
      else
        promise_.set_value(std::move(*output_));
    } catch (...) {  // moving the output threw
      promise_.set_exception(std::current_exception());
    }
    destroy();
  }

  Block& block_;
  detail::BatchChunk chunk_{};
  Input input_;
  std::optional<Output> output_{};
  std::promise<Output> promise_;
};

/// A call whose sender waits in place, on its own stack.
template <class Input, class Output>
class BatchExecutor<Input, Output>::BlockingCall final : public Call {
 public:
  using Call::Call;
  ~BlockingCall() override = default;

  /// Adds the items; consecutive items with equal keys form one chunk.
  template <class KeyOf>
  void add_runs(std::span<const Input> items, KeyOf key_of) {
    std::uint64_t key = key_of(items[0]);
    std::size_t begin = 0;
    for (std::size_t i = 1; i < items.size(); ++i) {
      const std::uint64_t next = key_of(items[i]);
      if (next == key) continue;
      this->add(more_chunks_.emplace_front(), i - begin, key);
      begin = i;
      key = next;
    }
    this->add(last_chunk_, items.size() - begin, key);
  }
  void send_to(detail::BatchCore& core, const RequestOptions& options) {
    core.send_and_wait(*this, options);
    if (this->error_) std::rethrow_exception(std::move(this->error_));
  }

 private:
  detail::BatchChunk last_chunk_{};
  std::forward_list<detail::BatchChunk> more_chunks_{};  // keeps addresses stable
};

template <class Input, class Output>
class BatchExecutor<Input, Output>::Runner final : public detail::BatchRunner {
 public:
  Runner(const PredictEach& predict, bool isolate) : predict_(predict), isolate_(isolate) {}

  void run(std::span<detail::BatchSlice> batch) noexcept override {
    try {
      const std::span<const Input> inputs = gather(batch);
      if (isolate_)
        predict_isolated(inputs);
      else if (const Attempt attempt = predict(inputs, 0, inputs.size()); attempt.failure)
        fail(attempt.outputs, inputs.size(), attempt.failure);
    } catch (...) {  // no memory
      fail_unanswered(batch, std::current_exception());
    }
    for (detail::BatchSlice& slice : batch) count_failures(slice);
    inputs_.clear();
    places_.clear();
  }

 private:
  /// Where the output of an input goes.
  struct Place {
    detail::BatchSlice* slice;
    std::size_t item;
  };

  /// The result of calling predict on a range of inputs.
  struct Attempt {
    std::size_t outputs;         // this many of the first inputs have an output
    std::exception_ptr failure;  // why the others have no output; null if all have one
  };

  /// The BatchOutputs that predict gets.
  class Outputs final : public BatchOutputs<Output> {
   public:
    explicit Outputs(std::span<const Place> places) : places_(places) {}

    void add(Output&& output) override {
      if (size_ == places_.size()) {
        too_many_ = true;
        std::rethrow_exception(detail::wrong_result_count(size_ + 1, size_));
      }
      const Place& place = places_[size_++];
      try {
        typed(*place.slice).outputs[place.item].emplace(std::move(output));
      } catch (...) {  // if moving an output throws, only this item fails
        place.slice->fail(place.item, std::current_exception());
      }
    }
    std::size_t size() const noexcept override { return size_; }
    bool too_many() const noexcept { return too_many_; }

   private:
    const std::span<const Place> places_;
    std::size_t size_ = 0;
    bool too_many_ = false;
  };

  static Call& typed(const detail::BatchSlice& slice) { return static_cast<Call&>(*slice.call); }

  // Returns the batch's inputs as one contiguous span: in place if they are of one call, else
  // moved. If moving an input throws, only this item fails.
  std::span<const Input> gather(std::span<detail::BatchSlice> batch) {
    for (detail::BatchSlice& slice : batch)
      for (std::size_t i = slice.begin; i < slice.end; ++i) places_.push_back({&slice, i});
    if (batch.size() == 1) return {typed(batch[0]).inputs + batch[0].begin, places_.size()};
    inputs_.reserve(places_.size());
    std::erase_if(places_, [this](const Place& place) {
      try {
        inputs_.push_back(std::move(typed(*place.slice).inputs[place.item]));
        return false;
      } catch (...) {
        place.slice->fail(place.item, std::current_exception());
        return true;
      }
    });
    return inputs_;
  }

  // Halves the batch to find the first input that fails on its own, then continues behind it. If
  // one input of n fails, this takes ⌈log2 n⌉ predictions of halves, one of that input and one of
  // the inputs behind it.
  void predict_isolated(std::span<const Input> inputs) {
    for (std::size_t begin = 0; begin < inputs.size();) {
      std::size_t end = inputs.size();
      for (std::size_t failed_end = 0;;) {
        const Attempt attempt = predict(inputs, begin, end);
        begin += attempt.outputs;
        if (!attempt.failure) {
          if (end >= failed_end) break;  // no remaining input was in a failed prediction
          end = begin + std::max<std::size_t>(1, (failed_end - begin) / 2);
        } else if (end - begin == 1) {
          fail(begin, end, attempt.failure);
          begin = end;
          break;
        } else {
          failed_end = end;
          end = begin + (attempt.outputs > 0 ? 1 : (end - begin) / 2);
        }
      }
    }
  }

  Attempt predict(std::span<const Input> all, std::size_t begin, std::size_t end) {
    if (begin == end) return {0, nullptr};
    const std::span<const Input> inputs = all.subspan(begin, end - begin);
    const std::span<const Place> places(places_.data() + begin, inputs.size());
    Outputs outputs(places);
    std::exception_ptr failure;
    try {
      predict_(inputs, outputs);
      if (outputs.size() < inputs.size())
        failure = detail::wrong_result_count(outputs.size(), inputs.size());
    } catch (...) {
      failure = std::current_exception();
    }
    if (!outputs.too_many()) return {outputs.size(), failure};
    // The outputs cannot be assigned to inputs.
    for (const Place& place : places) typed(*place.slice).outputs[place.item].reset();
    return {0, detail::wrong_result_count(inputs.size() + 1, inputs.size())};
  }

  void fail(std::size_t begin, std::size_t end, const std::exception_ptr& why) noexcept {
    for (std::size_t i = begin; i < end; ++i) places_[i].slice->fail(places_[i].item, why);
  }

  static void fail_unanswered(std::span<detail::BatchSlice> batch,
                              const std::exception_ptr& why) noexcept {
    for (detail::BatchSlice& slice : batch)
      for (std::size_t i = slice.begin; i < slice.end; ++i)
        if (!typed(slice).outputs[i]) slice.fail(i, why);
  }

  static void count_failures(detail::BatchSlice& slice) noexcept {
    if (!slice.error) return;
    for (std::size_t i = slice.begin; i < slice.end; ++i)
      if (!typed(slice).outputs[i]) ++slice.failures;
  }

  const PredictEach& predict_;
  const bool isolate_;
  std::vector<Input> inputs_{};
  std::vector<Place> places_{};
};

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
