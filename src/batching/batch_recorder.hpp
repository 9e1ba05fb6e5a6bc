// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "vcap/base/clock.hpp"
#include "vcap/batching/batch_statistics.hpp"

namespace vcap::detail {

/// Counts for BatchStatistics. Written under the core's lock, which every writer holds anyway, so
/// that counting costs a plain addition; read at any time without the lock. Thread safety: one
/// thread at a time may count; read() is thread-safe at the same time.
class BatchRecorder {
 public:
  enum class Count : std::uint8_t {
    accepted,
    answered,
    failed,
    dropped,
    expired,
    cancelled,
    closed
  };

  explicit BatchRecorder(bool enabled) : spread_(enabled ? std::make_unique<Spread>() : nullptr) {}

  void count(Count what, std::size_t items) noexcept {
    if (spread_) add(counts_[static_cast<std::size_t>(what)], items);
  }
  /// Thread-safe, unlike the others.
  void count_rejected(std::size_t items = 1) noexcept {
    if (spread_) rejected_.fetch_add(items, std::memory_order_relaxed);
  }
  void waited(Clock::duration time, std::size_t items) noexcept {
    if (spread_) add(spread_->wait[bucket_of(time)], items);
  }
  void predicted(Clock::duration time, std::size_t items) noexcept {
    if (!spread_) return;
    add(spread_->predict[bucket_of(time)], 1);
    add(spread_->sizes[Histogram::bucket_of(items)], 1);
  }

  /// Everything except `queued` and `running`.
  BatchStatistics read() const;

 private:
  using Cell = std::atomic<std::uint64_t>;
  using Buckets = std::array<Cell, Histogram::bucket_count()>;
  struct Spread {
    Buckets wait{}, predict{}, sizes{};
  };

  static void add(Cell& cell, std::uint64_t more) noexcept {
    cell.store(cell.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  static std::size_t bucket_of(Clock::duration time) noexcept {
    return Histogram::bucket_of(
        static_cast<std::uint64_t>(time.count() < 0 ? 0 : std::chrono::nanoseconds(time).count()));
  }

  std::array<Cell, 7> counts_{};
  Cell rejected_{0};
  std::unique_ptr<Spread> spread_;  // null: nothing is counted
};

}  // namespace vcap::detail
