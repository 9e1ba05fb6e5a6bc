// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>

#include "base/thread_annotations.hpp"

namespace vcap {

/// The bound on frames in flight over all streams of a pipeline, as a number of slots. Each frame
/// takes a slot, except the first of each stream and those that wait for later frames (stencils).
/// So a stream that keeps its frames can slow other streams down, but cannot stop them. Thread
/// safety: thread-safe.
class InFlightLimiter {
 public:
  /// One stream's wait for a slot.
  class Waiter {
   private:
    friend class InFlightLimiter;
    CondVar woken_;
    // Guarded by the limiter's mutex.
    bool granted_ = false;
    bool released_ = false;
  };

  /// `slots` 0: no bound.
  explicit InFlightLimiter(std::size_t slots) : bounded_(slots > 0), free_(slots) {}

  /// False if no slot is free, or if others already wait for one.
  bool try_take();
  /// Waits for a slot, first come, first served. False if release() ends the wait.
  bool wait(Waiter& waiter);
  /// Ends the wait in progress, or the next one, without a slot.
  void release(Waiter& waiter);
  /// Reverts release().
  void reset(Waiter& waiter);
  void give_back(std::size_t slots);

 private:
  const bool bounded_;
  Mutex mutex_;
  std::size_t free_ VCAP_GUARDED_BY(mutex_);
  std::deque<Waiter*> waiting_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
