// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "vcap/batching/detail/batch_core.hpp"

namespace vcap::detail {

/// The arena in which an executor's predict runs: the calling worker or leader takes part, and at
/// most `concurrency` threads in all. Thread safety: thread-safe.
class PredictArena {
 public:
  /// `workers` slots are reserved for the callers of run, so that no caller waits for another and
  /// no predict moves to another thread. A concurrency of 0 means the machine's.
  PredictArena(std::uint64_t number, std::size_t workers, std::size_t concurrency);
  ~PredictArena();
  PredictArena(const PredictArena&) = delete;
  PredictArena& operator=(const PredictArena&) = delete;

  /// Runs the batch on the calling thread.
  void run(BatchRunner& runner, std::span<BatchSlice> batch);
  /// Whether the calling thread is within run() of the arena with this number, or helps in a
  /// parallel loop there. Arenas nest: a predict may call another executor, and lead there.
  static bool is_inside(std::uint64_t number) noexcept;
  /// A number that no other arena of this process has or had.
  static std::uint64_t next_number() noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vcap::detail
