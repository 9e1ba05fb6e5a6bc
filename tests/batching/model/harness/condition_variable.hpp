// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>

#include "harness/alive.hpp"
#include "harness/execution.hpp"
#include "harness/mutex.hpp"

namespace vcap::model {

/// std::condition_variable for strands. The schedule chooses which waiter is notified. A wait is
/// one step with the lock before it, because a strand that may notify could not see a difference.
/// So is a notification under the mutex that the waiters use.
class ConditionVariable {
 public:
  ConditionVariable() = default;
  ~ConditionVariable() {
    expect(waiting_ == 0, "a condition variable that has waiters comes to its end");
  }
  ConditionVariable(const ConditionVariable&) = delete;
  ConditionVariable& operator=(const ConditionVariable&) = delete;

  void wait(UniqueLock<Mutex>& lock, const Where& where = Where::current()) {
    wait_until(lock, TimePoint::max(), where);
  }
  template <class Predicate>
  void wait(UniqueLock<Mutex>& lock, Predicate holds, const Where& where = Where::current()) {
    while (!holds()) wait(lock, where);
  }
  std::cv_status wait_until(UniqueLock<Mutex>& lock, TimePoint time,
                            const Where& where = Where::current());
  template <class Predicate>
  bool wait_for(UniqueLock<Mutex>& lock, TimePoint::duration time, Predicate holds,
                const Where& where = Where::current()) {
    const TimePoint end = Execution::current()->now() + time;
    while (!holds())
      if (wait_until(lock, end, where) == std::cv_status::timeout) return holds();
    return true;
  }

  void notify_one(const Where& where = Where::current()) {
    reach("notify one", where);
    Execution::current()->wake_one(this);
  }
  void notify_all(const Where& where = Where::current()) {
    reach("notify all", where);
    Execution::current()->wake_all(this);
  }

 private:
  void reach(const char* operation, const Where& where);

  Alive alive_{};
  std::size_t waiting_ = 0;
  const Mutex* mutex_ = nullptr;  // the mutex of the waiters
};

}  // namespace vcap::model
