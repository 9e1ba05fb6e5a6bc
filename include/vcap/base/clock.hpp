// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "vcap/base/export.hpp"

namespace vcap {

/// The time that batches, sinks and pipelines go by: the machine's steady clock, unless a test or a
/// simulation gives its own in their settings.
///
/// Only waits with an end go through it; what is idle waits without one. Thread safety:
/// thread-safe.
class VCAP_EXPORT Clock {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;

  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock();

  virtual time_point now() const noexcept = 0;
  /// Returns when `time` has come, when `condition` is notified, or for no reason, as
  /// std::condition_variable::wait_until does. `lock` is held before and after.
  virtual void wait_until(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
                          time_point time) = 0;
};

}  // namespace vcap
