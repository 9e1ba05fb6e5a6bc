// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "base/thread_annotations.hpp"
#include "streams/quarantine.hpp"
#include "vcap/base/clock.hpp"

namespace vcap {

/// When one capsule that keeps failing is left out of every stream's frames. Times come from the
/// clock, since streams have no other time in common. Thread safety: thread-safe.
class SharedQuarantine {
 public:
  SharedQuarantine(const QuarantinePolicy& policy, std::shared_ptr<Clock> clock)
      : clock_(std::move(clock)), policy_(policy), quarantine_(policy) {}

  const QuarantinePolicy& policy() const noexcept { return policy_; }
  bool holds() const {
    if (policy_.failures == 0) return false;
    const MutexLock lock(mutex_);
    return quarantine_.holds(now());
  }
  /// True if that begins a pause.
  bool note(bool failed) {
    if (policy_.failures == 0) return false;
    const MutexLock lock(mutex_);
    return quarantine_.note(now(), failed);
  }

 private:
  std::chrono::nanoseconds now() const { return clock_->now().time_since_epoch(); }

  const std::shared_ptr<Clock> clock_;
  const QuarantinePolicy policy_;
  mutable Mutex mutex_;
  Quarantine quarantine_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
