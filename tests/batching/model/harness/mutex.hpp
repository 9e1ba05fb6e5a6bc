// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <utility>

#include "harness/alive.hpp"
#include "harness/execution.hpp"

namespace vcap::model {

/// std::mutex for strands. An unlock is no step of its own: no other strand could see it before the
/// strand's next step.
class Mutex {
 public:
  Mutex() = default;
  ~Mutex() { expect(!owner_, "a mutex that is locked comes to its end"); }
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock(const Where& where = Where::current()) {
    alive_.check("lock");
    Execution& execution = *Execution::current();
    expect(owner_ != &execution.self(), "a mutex is locked twice by one thread");
    execution.reach("lock", this, where, [this] { return is_free(); });
    take();
  }
  bool try_lock(const Where& where = Where::current()) {
    alive_.check("try lock");
    Execution::current()->reach("try lock", this, where);
    if (!is_free()) return false;
    take();
    return true;
  }
  void unlock(const Where& where = Where::current()) {
    alive_.check("unlock");
    expect(is_held(), "a mutex is unlocked by a thread that does not hold it");
    Execution& execution = *Execution::current();
    execution.note("unlock", this, where);
    --execution.self().locks;
    owner_ = nullptr;
  }

  // For condition variables.
  bool is_free() const noexcept { return !owner_; }
  bool is_held() const { return owner_ == &Execution::current()->self(); }
  void take() {
    alive_.check("lock");
    Strand& self = Execution::current()->self();
    ++self.locks;
    owner_ = &self;
  }

 private:
  Alive alive_{};
  const Strand* owner_ = nullptr;
};

/// std::lock_guard for strands. It records the place in the code where it locks.
template <class Lockable>
class LockGuard {
 public:
  explicit LockGuard(Lockable& mutex, const Where& where = Where::current()) : mutex_(mutex) {
    mutex_.lock(where);
  }
  ~LockGuard() { mutex_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Lockable& mutex_;
};

/// std::unique_lock for strands. It records the place in the code where it locks.
template <class Lockable>
class UniqueLock {
 public:
  explicit UniqueLock(Lockable& mutex, const Where& where = Where::current()) : mutex_(&mutex) {
    lock(where);
  }
  UniqueLock(Lockable& mutex, std::adopt_lock_t) : mutex_(&mutex), owns_(true) {}
  ~UniqueLock() {
    if (owns_) unlock();
  }
  UniqueLock(const UniqueLock&) = delete;
  UniqueLock& operator=(const UniqueLock&) = delete;

  void lock(const Where& where = Where::current()) {
    expect(!owns_, "a lock is locked twice");
    mutex_->lock(where);
    owns_ = true;
  }
  void unlock() {
    expect(std::exchange(owns_, false), "a lock is unlocked twice");
    mutex_->unlock();
  }
  Lockable* release() noexcept {
    owns_ = false;
    return std::exchange(mutex_, nullptr);
  }
  bool owns_lock() const noexcept { return owns_; }
  Lockable* mutex() const noexcept { return mutex_; }

 private:
  Lockable* mutex_;
  bool owns_ = false;
};

}  // namespace vcap::model
