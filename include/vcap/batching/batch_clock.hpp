// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "vcap/base/export.hpp"

namespace vcap {

/// The time that a BatchExecutor goes by: the machine's steady clock, unless a test or a
/// simulation gives its own in BatchPolicy::clock.
///
/// Only waits with an end go through it; an idle executor waits without one. Thread safety:
/// thread-safe.
class VCAP_EXPORT BatchClock {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;

  BatchClock() = default;
  BatchClock(const BatchClock&) = delete;
  BatchClock& operator=(const BatchClock&) = delete;
  virtual ~BatchClock();

  virtual time_point now() const noexcept = 0;
  /// Returns when `time` has come, when `condition` is notified, or for no reason, as
  /// std::condition_variable::wait_until does. `lock` is held before and after.
  virtual void wait_until(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
                          time_point time) = 0;
};

}  // namespace vcap
