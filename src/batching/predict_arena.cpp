// SPDX-License-Identifier: Apache-2.0
#include "batching/predict_arena.hpp"

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace vcap::detail {
namespace {

// The arena that this thread works in; 0: none. One value is enough: only an executor's own worker
// threads enter its arena from outside, and they enter no other executor's arena. It is a number,
// not an address: a helper may keep it after the arena is destroyed, and then it must not match
// another arena.
thread_local std::uint64_t current_arena = 0;

int arena_size(std::size_t workers, std::size_t concurrency) {
  if (concurrency > 0) return static_cast<int>(concurrency);
  return std::max(static_cast<int>(workers), tbb::info::default_concurrency());
}

}  // namespace

class PredictArena::Impl final {
 public:
  Impl(std::uint64_t number, std::size_t workers, std::size_t concurrency)
      : number_(number),
        arena_(arena_size(workers, concurrency), static_cast<unsigned>(workers)),
        helpers_(arena_, number_) {}

  void run(BatchRunner& runner, std::span<BatchSlice> batch) {
    arena_.execute([&] {
      current_arena = number_;
      runner.run(batch);
      current_arena = 0;
    });
  }

 private:
  // Marks TBB's own threads while they help in this arena.
  class Helpers final : public tbb::task_scheduler_observer {
   public:
    Helpers(tbb::task_arena& arena, std::uint64_t number)
        : task_scheduler_observer(arena), number_(number) {
      observe(true);
    }
    ~Helpers() override { observe(false); }

    void on_scheduler_entry(bool is_worker) override {
      if (is_worker) current_arena = number_;
    }
    void on_scheduler_exit(bool is_worker) override {
      if (is_worker) current_arena = 0;
    }

   private:
    const std::uint64_t number_;
  };

  const std::uint64_t number_;
  tbb::task_arena arena_;
  Helpers helpers_;
};

PredictArena::PredictArena(std::uint64_t number, std::size_t workers, std::size_t concurrency)
    : impl_(std::make_unique<Impl>(number, workers, concurrency)) {}

PredictArena::~PredictArena() = default;

void PredictArena::run(BatchRunner& runner, std::span<BatchSlice> batch) {
  impl_->run(runner, batch);
}

std::uint64_t PredictArena::current() noexcept { return current_arena; }

std::uint64_t PredictArena::next_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace vcap::detail
