// SPDX-License-Identifier: Apache-2.0
#include "harness/condition_variable.hpp"

namespace vcap::model {

std::cv_status ConditionVariable::wait_until(UniqueLock<Mutex>& lock, TimePoint time,
                                             const Where& where) {
  alive_.check("wait");
  Mutex& mutex = *lock.mutex();
  expect(!mutex_ || mutex_ == &mutex, "a condition variable is waited on with two mutexes");
  mutex_ = &mutex;
  ++waiting_;
  mutex.unlock(where);
  Execution& execution = *Execution::current();
  execution.sleep(this, time, "wait", where, [&] { return mutex.is_free(); });
  alive_.check("wake");
  execution.note("lock", &mutex, where);
  mutex.take();
  --waiting_;
  return execution.now() < time ? std::cv_status::no_timeout : std::cv_status::timeout;
}

void ConditionVariable::reach(const char* operation, const Where& where) {
  alive_.check(operation);
  Execution& execution = *Execution::current();
  if (mutex_ && mutex_->is_held())
    execution.note(operation, this, where);
  else
    execution.reach(operation, this, where);
  alive_.check(operation);
}

}  // namespace vcap::model
