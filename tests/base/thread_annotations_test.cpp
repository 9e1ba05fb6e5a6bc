// SPDX-License-Identifier: Apache-2.0
#include "base/thread_annotations.hpp"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <thread>

#include "support/manual_clock.hpp"

namespace vcap {
namespace {

/// Whether another thread can lock the mutex now.
bool is_free(Mutex& mutex) VCAP_NO_THREAD_SAFETY_ANALYSIS {
  bool locked = false;
  std::thread([&]() VCAP_NO_THREAD_SAFETY_ANALYSIS {
    locked = mutex.try_lock();
    if (locked) mutex.unlock();
  }).join();
  return locked;
}

TEST(MutexLock, HoldsTheMutexToItsEndExceptBetweenUnlockAndLock) {
  Mutex mutex;
  {
    MutexLock lock(mutex);
    EXPECT_FALSE(is_free(mutex));
    lock.unlock();
    EXPECT_TRUE(is_free(mutex));
    lock.lock(kAdaptive);
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
}

TEST(MutexLock, DoesNotUnlockAMutexTwice) {
  Mutex mutex;
  {
    MutexLock lock(mutex, kAdaptive);
    lock.unlock();
  }
  EXPECT_TRUE(is_free(mutex));
}

TEST(MutexLock, WaitsForTheOtherHolder) {
  Mutex mutex;
  int value = 0;
  MutexLock lock(mutex);
  std::thread other([&] {
    const MutexLock inner(mutex, kAdaptive);
    EXPECT_EQ(value, 1);
  });
  value = 1;
  lock.unlock();
  other.join();
}

TEST(MutexUnlock, ReleasesTheMutexToItsEnd) {
  Mutex mutex;
  MutexLock lock(mutex);
  {
    const MutexUnlock free(mutex);
    EXPECT_TRUE(is_free(mutex));
  }
  EXPECT_FALSE(is_free(mutex));
  {
    const MutexUnlock free(mutex, kAdaptive);
    EXPECT_TRUE(is_free(mutex));
  }
  EXPECT_FALSE(is_free(mutex));
}

TEST(CondVar, HoldsTheMutexAfterAWait) {
  Mutex mutex;
  CondVar changed;
  bool ready = false;
  std::future<void> other;
  {
    MutexLock lock(mutex);
    other = std::async(std::launch::async, [&] {
      const MutexLock inner(mutex);  // the wait has released it
      ready = true;
      changed.notify_all();
    });
    changed.wait(mutex, [&] { return ready; });
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
}

TEST(CondVar, HoldsTheMutexIfThePredicateThrows) {
  Mutex mutex;
  CondVar changed;
  {
    MutexLock lock(mutex);
    EXPECT_THROW(changed.wait(mutex, []() -> bool { throw std::runtime_error("no"); }),
                 std::runtime_error);
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
}

TEST(CondVar, WaitsByTheClockThatItIsGiven) {
  test::ManualClock clock;
  Mutex mutex;
  CondVar changed;
  const Clock::time_point end = clock.now() + std::chrono::seconds(1);
  std::thread mover([&] {
    clock.await_sleeper(end);
    clock.advance(std::chrono::seconds(1));
  });
  {
    MutexLock lock(mutex);
    changed.wait_until(clock, mutex, end);
    EXPECT_FALSE(is_free(mutex));
  }
  mover.join();
  EXPECT_GE(clock.now(), end);
}

TEST(CondVar, ByTheMachinesTimeHoldsTheMutexAfterAWait) {
  Mutex mutex;
  CondVar never;
  const Clock::time_point end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  MutexLock lock(mutex);
  while (std::chrono::steady_clock::now() < end) never.wait_until(mutex, end);
  EXPECT_FALSE(is_free(mutex));
}

TEST(CondVar, WaitsForAPredicateNoLongerThanItIsTold) {
  Mutex mutex;
  CondVar never;
  MutexLock lock(mutex);
  EXPECT_TRUE(never.wait_for(mutex, std::chrono::hours(1), [] { return true; }));
  EXPECT_FALSE(never.wait_for(mutex, std::chrono::milliseconds(1), [] { return false; }));
  EXPECT_FALSE(is_free(mutex));
}

TEST(StoppableCondVar, WaitsUntilItsPredicateHolds) {
  Mutex mutex;
  StoppableCondVar changed;
  bool ready = false;
  std::stop_source never;
  MutexLock lock(mutex);
  const auto other = std::async(std::launch::async, [&] {
    const MutexLock inner(mutex);  // the wait has released it
    ready = true;
    changed.notify_all();
  });
  EXPECT_TRUE(changed.wait(mutex, never.get_token(), [&] { return ready; }));
  EXPECT_FALSE(is_free(mutex));
  lock.unlock();  // before `other` is destroyed, which waits for the thread
}

TEST(StoppableCondVar, EndsItsWaitsWhenAStopIsRequested) {
  Mutex mutex;
  StoppableCondVar never;
  std::stop_source stop;
  MutexLock lock(mutex);
  const auto other = std::async(std::launch::async, [&] {
    const MutexLock inner(mutex);  // the wait has released it
    stop.request_stop();
  });
  EXPECT_FALSE(never.wait(mutex, stop.get_token(), [] { return false; }));
  EXPECT_FALSE(
      never.wait_for(mutex, stop.get_token(), std::chrono::hours(1), [] { return false; }));
  EXPECT_FALSE(is_free(mutex));
  lock.unlock();  // before `other` is destroyed, which waits for the thread
}

}  // namespace
}  // namespace vcap
