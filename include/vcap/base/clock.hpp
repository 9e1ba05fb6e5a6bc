// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "vcap/base/export.hpp"

namespace vcap {

/// The clock of batches, sinks and pipelines. It is the machine's steady clock, unless a test or a
/// simulation sets its own in their settings.
///
/// Only waits with an end time use it; an idle thread waits without a clock. Thread safety:
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
  /// Returns when `time` has come, when `condition` is notified, or spuriously, as
  /// std::condition_variable::wait_until does. `lock` is held before and after.
  virtual void wait_until(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
                          time_point time) = 0;
};

}  // namespace vcap
