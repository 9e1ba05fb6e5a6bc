// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

#include "base/relax.hpp"
#include "vcap/base/clock.hpp"

// Which mutex guards what, for clang's thread safety analysis (-Wthread-safety). Other compilers
// ignore it. https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#if defined(__clang__)
#define VCAP_THREAD_ANNOTATION(attribute) __attribute__((attribute))
#else
#define VCAP_THREAD_ANNOTATION(attribute)
#endif

/// A member that is read and written only with the mutex held; of a pointer, what it points to.
#define VCAP_GUARDED_BY(mutex) VCAP_THREAD_ANNOTATION(guarded_by(mutex))
#define VCAP_PT_GUARDED_BY(mutex) VCAP_THREAD_ANNOTATION(pt_guarded_by(mutex))
/// A function whose caller holds the mutex before and after. The function may release it in
/// between.
#define VCAP_REQUIRES(...) VCAP_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define VCAP_REQUIRES_SHARED(...) VCAP_THREAD_ANNOTATION(requires_shared_capability(__VA_ARGS__))
/// A function whose caller must not hold the mutex, because the function locks it.
#define VCAP_EXCLUDES(...) VCAP_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
/// A function that locks the mutex, or unlocks it.
#define VCAP_ACQUIRE(...) VCAP_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define VCAP_ACQUIRE_SHARED(...) VCAP_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define VCAP_TRY_ACQUIRE(...) VCAP_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define VCAP_RELEASE(...) VCAP_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define VCAP_RELEASE_SHARED(...) VCAP_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
/// A function that tells the analysis that the mutex is held, if it cannot see that.
#define VCAP_ASSERT_HELD(...) VCAP_THREAD_ANNOTATION(assert_capability(__VA_ARGS__))
/// A class that is a mutex, or that locks one from its constructor to its destructor.
#define VCAP_CAPABILITY(name) VCAP_THREAD_ANNOTATION(capability(name))
#define VCAP_SCOPED_CAPABILITY VCAP_THREAD_ANNOTATION(scoped_lockable)
/// A function that the analysis does not understand. The comment beside it says why it is right.
#define VCAP_NO_THREAD_SAFETY_ANALYSIS VCAP_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace vcap {

/// Asks for a lock that tries for about a microsecond before the thread sleeps.
struct Adaptive {};
inline constexpr Adaptive kAdaptive{};

/// A std::mutex that the analysis knows. Thread safety: thread-safe.
class VCAP_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() VCAP_ACQUIRE() { mutex_.lock(); }
  bool try_lock() VCAP_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() VCAP_RELEASE() { mutex_.unlock(); }

  /// For a mutex that is only held briefly: sleeping and being woken costs both threads several
  /// microseconds. glibc does the same for PTHREAD_MUTEX_ADAPTIVE_NP; condition variables need a
  /// std::mutex.
  void lock(Adaptive) VCAP_ACQUIRE() {
    constexpr int kTries = 100;
    for (int i = 0; i < kTries; ++i) {
      if (mutex_.try_lock()) return;
      relax();
    }
    mutex_.lock();
  }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

/// Holds a mutex to the end of its scope, except between unlock() and lock(). A function that does
/// not get the MutexLock uses MutexUnlock to release the mutex for a while.
class VCAP_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) VCAP_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  MutexLock(Mutex& mutex, Adaptive) VCAP_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(kAdaptive); }
  ~MutexLock() VCAP_RELEASE() {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void unlock() VCAP_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }
  void lock() VCAP_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }
  void lock(Adaptive) VCAP_ACQUIRE() {
    mutex_.lock(kAdaptive);
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

/// Releases a mutex that the caller holds, to the end of the scope.
class VCAP_SCOPED_CAPABILITY MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) VCAP_RELEASE(mutex) : mutex_(mutex) { mutex_.unlock(); }
  /// Locks it again as kAdaptive says.
  MutexUnlock(Mutex& mutex, Adaptive) VCAP_RELEASE(mutex) : mutex_(mutex), adaptive_(true) {
    mutex_.unlock();
  }
  ~MutexUnlock() VCAP_RELEASE() {  // the analysis's term: ends what the constructor began
    if (adaptive_)
      mutex_.lock(kAdaptive);
    else
      mutex_.lock();
  }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex& mutex_;
  const bool adaptive_ = false;
};

/// A std::condition_variable for a Mutex. Annotate a predicate that reads guarded members:
///
///     ready_.wait(mutex_, [this]() VCAP_REQUIRES(mutex_) { return count_ > 0; });
///
/// Thread safety: thread-safe.
class CondVar {
 public:
  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

  void wait(Mutex& mutex) VCAP_REQUIRES(mutex) {
    Held held(mutex);
    condition_.wait(held.lock);
  }
  /// The analysis cannot see that the mutex of the predicate is this one.
  template <class Predicate>
  void wait(Mutex& mutex, Predicate predicate) VCAP_REQUIRES(mutex) VCAP_NO_THREAD_SAFETY_ANALYSIS {
    Held held(mutex);
    condition_.wait(held.lock, std::move(predicate));
  }
  /// As Clock::wait_until().
  void wait_until(Clock& clock, Mutex& mutex, Clock::time_point time) VCAP_REQUIRES(mutex) {
    Held held(mutex);
    clock.wait_until(condition_, held.lock, time);
  }
  /// For the machine's time.
  void wait_until(Mutex& mutex, Clock::time_point time) VCAP_REQUIRES(mutex) {
    Held held(mutex);
    condition_.wait_until(held.lock, time);
  }
  /// As wait() with a predicate, for at most so long. Returns what the predicate gave last.
  template <class Predicate>
  bool wait_for(Mutex& mutex, Clock::duration time, Predicate predicate)
      VCAP_REQUIRES(mutex) VCAP_NO_THREAD_SAFETY_ANALYSIS {
    Held held(mutex);
    return condition_.wait_for(held.lock, time, std::move(predicate));
  }

 private:
  /// The mutex in the form that std::condition_variable needs. The caller still holds it
  /// afterwards.
  struct Held {
    explicit Held(Mutex& mutex) : lock(mutex.mutex_, std::adopt_lock) {}
    ~Held() { lock.release(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    std::unique_lock<std::mutex> lock;
  };

  std::condition_variable condition_;
};

/// A std::condition_variable_any for a Mutex: a stop token ends its waits. It costs more than a
/// CondVar. Predicates are as there. Thread safety: thread-safe.
class StoppableCondVar {
 public:
  void notify_all() noexcept { condition_.notify_all(); }

  /// Returns what the predicate gave last: false if the stop came first.
  template <class Predicate>
  bool wait(Mutex& mutex, const std::stop_token& stop, Predicate predicate)
      VCAP_REQUIRES(mutex) VCAP_NO_THREAD_SAFETY_ANALYSIS {
    return condition_.wait(mutex, stop, std::move(predicate));
  }
  /// For at most so long, by the machine's time.
  template <class Predicate>
  bool wait_for(Mutex& mutex, const std::stop_token& stop, Clock::duration time,
                Predicate predicate) VCAP_REQUIRES(mutex) VCAP_NO_THREAD_SAFETY_ANALYSIS {
    return condition_.wait_for(mutex, stop, time, std::move(predicate));
  }

 private:
  std::condition_variable_any condition_;
};

}  // namespace vcap
