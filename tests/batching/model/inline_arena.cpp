// SPDX-License-Identifier: Apache-2.0
// Implements batching/predict_arena.hpp without TBB, because a schedule cannot control the threads
// of TBB.
#include "batching/predict_arena.hpp"

#include <utility>

namespace vcap::detail {

class PredictArena::Impl {
 public:
  explicit Impl(std::uint64_t own) : number(own) {}
  const std::uint64_t number;
};

PredictArena::PredictArena(std::uint64_t number, std::size_t, std::size_t)
    : impl_(std::make_unique<Impl>(number)) {}

PredictArena::~PredictArena() = default;

void PredictArena::run(BatchRunner& runner, std::span<BatchSlice> batch) {
  std::uint64_t& current = model::Execution::current()->self().arena;
  const std::uint64_t outer = std::exchange(current, impl_->number);
  runner.run(batch);
  model::Execution::current()->self().arena = outer;
}

// Scenes have one executor, so that arenas do not nest.
bool PredictArena::is_inside(std::uint64_t number) noexcept {
  return model::Execution::current()->self().arena == number;
}

std::uint64_t PredictArena::next_number() noexcept {
  return model::Execution::current()->next_number();
}

}  // namespace vcap::detail
