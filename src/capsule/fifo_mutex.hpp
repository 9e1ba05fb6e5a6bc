// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>

namespace vcap::detail {

/// A mutex whose waiters get it in the order of their arrival. std::mutex does not guarantee this,
/// and a stream's state would be wrong if its frames overtook each other. Thread-safe; for
/// std::unique_lock.
class FifoMutex {
 public:
  void lock() {
    std::unique_lock guard(guard_);
    if (!held_) {
      held_ = true;
      return;
    }
    Waiter self;
    waiting_.push_back(&self);
    self.woken.wait(guard, [&self] { return self.owns; });
  }

  bool try_lock() {
    const std::lock_guard guard(guard_);
    if (held_) return false;
    held_ = true;
    return true;
  }

  /// How many threads wait; for tests that need to know which thread came first.
  std::size_t waiting() {
    const std::lock_guard guard(guard_);
    return waiting_.size();
  }

  /// Hands the mutex to the first waiter, so that no newcomer can take it in between.
  void unlock() {
    const std::lock_guard guard(guard_);
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
    std::condition_variable woken;
    bool owns = false;
  };

  std::mutex guard_;
  std::deque<Waiter*> waiting_;
  bool held_ = false;
};

}  // namespace vcap::detail
