// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <forward_list>

#include "vcap/batching/batch_executor.hpp"

namespace vcap {

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

}  // namespace vcap
