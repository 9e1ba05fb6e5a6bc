// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <shared_mutex>

#include "base/thread_annotations.hpp"

namespace vcap {

/// A std::recursive_mutex that the analysis knows: a function that locks it twice itself is
/// refused. Thread safety: thread-safe.
class VCAP_CAPABILITY("mutex") RecursiveMutex {
 public:
  RecursiveMutex() = default;
  RecursiveMutex(const RecursiveMutex&) = delete;
  RecursiveMutex& operator=(const RecursiveMutex&) = delete;

  void lock() VCAP_ACQUIRE() { mutex_.lock(); }
  void unlock() VCAP_RELEASE() { mutex_.unlock(); }

 private:
  std::recursive_mutex mutex_;
};

/// A std::shared_mutex that the analysis knows. Members that it guards are read by holders of a
/// SharedLock, and written by the holder of an ExclusiveLock. Thread safety: thread-safe.
class VCAP_CAPABILITY("mutex") SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void lock() VCAP_ACQUIRE() { mutex_.lock(); }
  void unlock() VCAP_RELEASE() { mutex_.unlock(); }
  void lock_shared() VCAP_ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void unlock_shared() VCAP_RELEASE_SHARED() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

/// Holds a RecursiveMutex, or a SharedMutex alone, to the end of its scope.
template <class AnyMutex>
class VCAP_SCOPED_CAPABILITY ExclusiveLock {
 public:
  explicit ExclusiveLock(AnyMutex& mutex) VCAP_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~ExclusiveLock() VCAP_RELEASE() { mutex_.unlock(); }
  ExclusiveLock(const ExclusiveLock&) = delete;
  ExclusiveLock& operator=(const ExclusiveLock&) = delete;

 private:
  AnyMutex& mutex_;
};

/// Holds a SharedMutex together with others, to the end of its scope.
class VCAP_SCOPED_CAPABILITY SharedLock {
 public:
  explicit SharedLock(SharedMutex& mutex) VCAP_ACQUIRE_SHARED(mutex) : mutex_(mutex) {
    mutex_.lock_shared();
  }
  ~SharedLock() VCAP_RELEASE() { mutex_.unlock_shared(); }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace vcap
