// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>

#include "vcap/base/export.hpp"

namespace vcap {

/// The bound on frames that are in flight over all streams of a pipeline: each of them takes one of
/// so many slots, but for the first of every stream, which needs none; so a stream that holds on to
/// its frames can slow others down, and stop none. Thread safety: thread-safe.
class VCAP_EXPORT FlightLimit {
 public:
  /// One stream's wait for a slot.
  class Waiter {
   private:
    friend class FlightLimit;
    std::condition_variable woken_;
    bool granted_ = false;
    bool released_ = false;
  };

  /// 0: no bound.
  explicit FlightLimit(std::size_t slots) : bounded_(slots > 0), free_(slots) {}

  /// False where there is no slot, or others wait for one already.
  bool try_take();
  /// Waits for a slot, in the order of those who wait; false where it was released before.
  bool wait(Waiter& waiter);
  /// Ends the wait that is in progress, or the next one, without a slot.
  void release(Waiter& waiter);
  /// Forgets a release.
  void reset(Waiter& waiter);
  void give_back(std::size_t slots);

 private:
  const bool bounded_;
  std::mutex mutex_;
  std::size_t free_;
  std::deque<Waiter*> waiting_;
};

}  // namespace vcap
