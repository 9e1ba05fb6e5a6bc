// SPDX-License-Identifier: Apache-2.0
#include "workers/in_flight_limiter.hpp"

#include <algorithm>

namespace vcap {

bool InFlightLimiter::try_take() {
  if (!bounded_) return true;
  const MutexLock lock(mutex_);
  if (free_ == 0 || !waiting_.empty()) return false;
  --free_;
  return true;
}

bool InFlightLimiter::wait(Waiter& waiter) {
  if (!bounded_) return true;
  MutexLock lock(mutex_);
  if (waiter.released_) return false;
  if (free_ > 0 && waiting_.empty()) {
    --free_;
    return true;
  }
  waiter.granted_ = false;
  waiting_.push_back(&waiter);
  waiter.woken_.wait(mutex_, [&waiter] { return waiter.granted_ || waiter.released_; });
  if (!waiter.granted_) std::erase(waiting_, &waiter);
  return waiter.granted_;
}

void InFlightLimiter::release(Waiter& waiter) {
  if (!bounded_) return;
  const MutexLock lock(mutex_);
  waiter.released_ = true;
  waiter.woken_.notify_all();
}

void InFlightLimiter::reset(Waiter& waiter) {
  if (!bounded_) return;
  const MutexLock lock(mutex_);
  waiter.released_ = false;
}

void InFlightLimiter::give_back(std::size_t slots) {
  if (!bounded_) return;
  const MutexLock lock(mutex_);
  free_ += slots;
  while (free_ > 0 && !waiting_.empty()) {
    Waiter& next = *waiting_.front();
    waiting_.pop_front();
    --free_;
    next.granted_ = true;
    next.woken_.notify_all();
  }
}

}  // namespace vcap
