// SPDX-License-Identifier: Apache-2.0
#include "batching/predict_arena.hpp"

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace vcap::detail {
namespace {

/// An arena that this thread is within run() of. It is known by its number, not its address, so
/// that it can be compared with the arena of an executor that is not inside it.
struct Entered {
  explicit Entered(std::uint64_t number) noexcept
      : arena(number), outer(std::exchange(innermost, this)) {}
  ~Entered() { innermost = outer; }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

  static thread_local const Entered* innermost;
  const std::uint64_t arena;
  const Entered* const outer;
};
thread_local const Entered* Entered::innermost = nullptr;

// The arena whose loops this thread of TBB helps in; 0: none. If the thread runs a batch in a
// further arena from there, this stays the same. It may outlive its arena, because a helper that is
// still there when the arena is destroyed is not told so; the next arena that it helps in replaces
// it.
thread_local std::uint64_t helped_arena = 0;

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

  // Sets the mark before the thread enters the arena, so that Helpers can tell it from a helper. It
  // is the thread that runs the batch, because a slot is reserved for it.
  void run(BatchRunner& runner, std::span<BatchSlice> batch) {
    const Entered entered(number_);
    arena_.execute([&] { runner.run(batch); });
  }

 private:
  // Marks TBB's own threads while they help in this arena. Such a thread may also be here because
  // it runs a batch; then it is marked by run().
  class Helpers final : public tbb::task_scheduler_observer {
   public:
    Helpers(tbb::task_arena& arena, std::uint64_t number)
        : task_scheduler_observer(arena), number_(number) {
      observe(true);
    }
    ~Helpers() override { observe(false); }

    void on_scheduler_entry(bool is_worker) override {
      if (is_worker && !runs_batch()) helped_arena = number_;
    }
    void on_scheduler_exit(bool is_worker) override {
      if (is_worker && helped_arena == number_) helped_arena = 0;
    }

   private:
    bool runs_batch() const noexcept {
      return Entered::innermost != nullptr && Entered::innermost->arena == number_;
    }

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

bool PredictArena::is_inside(std::uint64_t number) noexcept {
  if (helped_arena == number) return true;
  for (const Entered* in = Entered::innermost; in; in = in->outer)
    if (in->arena == number) return true;
  return false;
}

std::uint64_t PredictArena::next_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace vcap::detail
