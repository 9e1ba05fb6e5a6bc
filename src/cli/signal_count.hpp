// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace vcap::cli {

/// Counts signals. One that comes within a second of the last counted one does not count: some
/// programs send a signal to a process and then to its group. Has no clock. Async-signal-safe;
/// thread-safe.
class SignalCount {
 public:
  /// Returns the number of signals so far, or 0 if this one does not count. `now`: nanoseconds of
  /// any clock that does not go back.
  int add(std::int64_t now) noexcept {
    constexpr std::int64_t kOneSignal = 1'000'000'000;
    std::int64_t last = last_;
    if (last != kNever && now - last < kOneSignal) return 0;
    // If another thread counts a signal now, these two are one.
    if (!last_.compare_exchange_strong(last, now)) return 0;
    return ++count_;
  }
  int count() const noexcept { return count_; }
  void reset() noexcept {
    count_ = 0;
    last_ = kNever;
  }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

  std::atomic<int> count_ = 0;
  std::atomic<std::int64_t> last_ = kNever;
  static_assert(std::atomic<std::int64_t>::is_always_lock_free);  // as a signal handler requires
};

}  // namespace vcap::cli
