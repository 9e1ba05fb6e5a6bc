// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "vcap/base/export.hpp"
#include "vcap/base/histogram.hpp"

namespace vcap {

/// Recent events per second. Thread safety: thread-safe, lock-free.
class VCAP_EXPORT RateMeter {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  void add(time_point now) noexcept;
  /// Over the last ten whole seconds, or since `begin` if that is shorter.
  double per_second(time_point now, time_point begin) const noexcept;

 private:
  static constexpr std::size_t kSeconds = 16;
  /// Upper half: number of the second; lower half: its event count.
  std::array<std::atomic<std::uint64_t>, kSeconds> cells_{};
};

/// Counts calls and their durations. Thread safety: thread-safe, lock-free.
class VCAP_EXPORT CallMeter {
 public:
  using time_point = RateMeter::time_point;

  CallMeter() = default;
  ~CallMeter();
  CallMeter(const CallMeter&) = delete;
  CallMeter& operator=(const CallMeter&) = delete;

  void add(time_point begin, time_point end, bool failed) noexcept;

  std::uint64_t calls() const noexcept { return calls_.load(std::memory_order_relaxed); }
  std::uint64_t failures() const noexcept { return failures_.load(std::memory_order_relaxed); }
  Histogram times_ns() const;
  double per_second(time_point now, time_point begin) const noexcept {
    return rate_.per_second(now, begin);
  }

 private:
  using Cells = std::array<std::atomic<std::uint64_t>, Histogram::bucket_count()>;

  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint64_t> failures_{0};
  RateMeter rate_{};
  /// Allocated at the first call, so that the meter of an idle stream stays small.
  std::atomic<Cells*> cells_{nullptr};
};

}  // namespace vcap
