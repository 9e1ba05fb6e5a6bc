// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

namespace vcap {

/// The trial of a capsule that has replaced another: it must not fail on its first frames. Thread
/// safety: thread-safe.
class Trial {
 public:
  /// `over` is called once, unless `frames` is 0: with true after this number of frames, with false
  /// at the first failure. [frame worker]
  Trial(std::int64_t frames, std::function<void(bool passed)> over)
      : left_(frames), over_(std::move(over)) {}
  bool running() const noexcept { return left_.load(std::memory_order_relaxed) > 0; }
  void note(bool failed) {
    if (!running()) return;
    if (failed) {
      if (left_.exchange(0) > 0) over_(false);
    } else if (left_.fetch_sub(1) == 1) {
      over_(true);
    }
  }

 private:
  std::atomic<std::int64_t> left_;
  const std::function<void(bool)> over_;
};

}  // namespace vcap
