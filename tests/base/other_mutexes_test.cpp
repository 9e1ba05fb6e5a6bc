// SPDX-License-Identifier: Apache-2.0
#include "base/other_mutexes.hpp"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "support/bounded_wait.hpp"

namespace vcap {
namespace {

TEST(SharedMutex, IsHeldByAnyNumberOfSharedLocks) {
  SharedMutex mutex;
  test::Meeting both(2);
  const auto hold = [&] {
    const SharedLock lock(mutex);
    both.arrive_and_wait("the other holder");
  };
  auto other = std::async(std::launch::async, hold);
  EXPECT_NO_THROW(hold());
  EXPECT_NO_THROW(other.get());
}

TEST(SharedMutex, IsHeldByOneExclusiveLockAlone) {
  SharedMutex mutex;
  int value = 0;
  std::thread other;
  {
    const ExclusiveLock lock(mutex);
    other = std::thread([&] {
      const SharedLock inner(mutex);
      EXPECT_EQ(value, 1);
    });
    value = 1;
  }
  other.join();
  const ExclusiveLock again(mutex);  // all have released it
}

TEST(RecursiveMutex, IsLockedAgainByItsHolder) {
  RecursiveMutex mutex;
  int value = 0;
  const auto lock_again = [&] {
    const ExclusiveLock lock(mutex);
    ++value;
  };
  std::thread other;
  {
    const ExclusiveLock lock(mutex);
    lock_again();
    other = std::thread([&] {
      const ExclusiveLock inner(mutex);
      EXPECT_EQ(value, 2);
    });
    value = 2;
  }
  other.join();
}

}  // namespace
}  // namespace vcap
