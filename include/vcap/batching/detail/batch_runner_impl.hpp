// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>

#include "vcap/base/error.hpp"
#include "vcap/batching/detail/batch_calls_impl.hpp"

namespace vcap {

template <class Input, class Output>
class BatchExecutor<Input, Output>::Runner final : public detail::BatchRunner {
 public:
  Runner(const PredictEach& predict, bool isolate) : predict_(predict), isolate_(isolate) {}

  void run(std::span<detail::BatchSlice> batch) noexcept override {
    try {
      const std::span<Input> inputs = gather(batch);
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
  std::span<Input> gather(std::span<detail::BatchSlice> batch) {
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

  // Halves the batch to find the inputs that fail on their own. If one input of 40 fails, this
  // takes at most 8 predictions; docs/batching.md says why fewer are not possible.
  void predict_isolated(std::span<Input> inputs) {
    std::size_t suspects = 0;  // of so many next inputs, one made a prediction fail; 0: not known
    for (std::size_t begin = 0; begin < inputs.size();) {
      const std::size_t rest = inputs.size() - begin;
      if (kCanReorder && suspects == 3 && rest > 3) {
        begin = predict_third_with_rest(inputs, begin, suspects);
        continue;
      }
      const std::size_t count = suspects == 0 ? rest : std::max<std::size_t>(1, suspects / 2);
      const Attempt attempt = predict(inputs, begin, begin + count);
      begin += attempt.outputs;
      const std::size_t failed = count - attempt.outputs;
      // A failure after the last output fails no input.
      if (!attempt.failure || failed == 0) {
        suspects -= std::min(suspects, count);
      } else if (failed == 1) {
        fail(begin, begin + 1, attempt.failure);
        ++begin;
        suspects = 0;
      } else {
        suspects = attempt.outputs > 0 ? 1 : failed;
      }
    }
  }

  // Predicts the last of three suspects together with all inputs behind them. If this succeeds, two
  // suspects remain and nothing behind them; else that suspect is the culprit, unless there are
  // several. Halving three suspects alone would take one prediction more. Returns where the
  // remaining inputs begin.
  std::size_t predict_third_with_rest(std::span<Input>& inputs, std::size_t begin,
                                      std::size_t& suspects) {
    const Attempt attempt = predict(inputs, begin + 2, inputs.size());
    const std::size_t culprit = begin + 2 + attempt.outputs;
    if (!attempt.failure || culprit == inputs.size()) {
      inputs = inputs.first(begin + 2);
      suspects = 2;
      return begin;
    }
    if (const Attempt alone = predict(inputs, culprit, culprit + 1); alone.outputs == 0)
      fail(culprit, culprit + 1, alone.failure);
    // The inputs between have their results. Closes the gap, so that one prediction takes the rest.
    reorder(inputs, begin + 1, culprit);
    reorder(inputs, begin, culprit - 1);
    suspects = 0;
    return culprit - 1;
  }

  // Moves an input to the place of one that has its result. Does not throw if kCanReorder.
  void reorder(std::span<Input> inputs, std::size_t from, std::size_t to) noexcept {
    std::destroy_at(&inputs[to]);
    std::construct_at(&inputs[to], std::move(inputs[from]));
    places_[to] = places_[from];
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

  static constexpr bool kCanReorder = std::is_nothrow_move_constructible_v<Input>;

  const PredictEach& predict_;
  const bool isolate_;
  std::vector<Input> inputs_{};
  std::vector<Place> places_{};
};

}  // namespace vcap
