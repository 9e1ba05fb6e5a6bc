// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>

#include "base/thread_annotations.hpp"

namespace vcap::detail {

/// A mutex whose waiters get it in the order of their arrival. std::mutex does not guarantee this,
/// and a stream's state would be wrong if its frames overtook each other. Thread-safe; for
/// std::unique_lock, which the analysis does not see: a function with such a lock calls
/// assert_held().
class VCAP_CAPABILITY("mutex") FifoMutex {
 public:
  void lock() VCAP_ACQUIRE() VCAP_EXCLUDES(guard_) {
    const MutexLock guard(guard_);
    if (!held_) {
      held_ = true;
      return;
    }
    Waiter self;
    waiting_.push_back(&self);
    self.woken.wait(guard_, [&self] { return self.owns; });
  }

  bool try_lock() VCAP_TRY_ACQUIRE(true) VCAP_EXCLUDES(guard_) {
    const MutexLock guard(guard_);
    if (held_) return false;
    held_ = true;
    return true;
  }

  /// Tells the analysis that the caller holds the mutex.
  void assert_held() const VCAP_ASSERT_HELD() {}

  /// How many threads wait; for tests that need to know which thread came first.
  std::size_t waiting() VCAP_EXCLUDES(guard_) {
    const MutexLock guard(guard_);
    return waiting_.size();
  }

  /// Hands the mutex to the first waiter, so that no newcomer can take it in between.
  void unlock() VCAP_RELEASE() VCAP_EXCLUDES(guard_) {
    const MutexLock guard(guard_);
    if (waiting_.empty()) {
      held_ = false;
      return;
    }
    Waiter& next = *waiting_.front();
    waiting_.pop_front();
    next.owns = true;
    // Under the guard: the waiter is on its thread's stack, and is destroyed once it can take the
    // mutex.
    next.woken.notify_one();
  }

 private:
  struct Waiter {
    CondVar woken;
    bool owns = false;  ///< guarded by guard_
  };

  Mutex guard_;
  std::deque<Waiter*> waiting_ VCAP_GUARDED_BY(guard_);
  bool held_ VCAP_GUARDED_BY(guard_) = false;
};

}  // namespace vcap::detail
