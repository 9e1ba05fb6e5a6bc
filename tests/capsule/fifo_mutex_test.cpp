// SPDX-License-Identifier: Apache-2.0
#include "capsule/fifo_mutex.hpp"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/bounded_wait.hpp"

namespace vcap::detail {
namespace {

TEST(FifoMutex, ServesWaitersInTheOrderOfTheirArrival) {
  constexpr int kThreads = 16;
  FifoMutex mutex;
  std::vector<int> served;
  {
    std::vector<std::jthread> threads;
    const std::lock_guard held(mutex);
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        const std::lock_guard lock(mutex);
        served.push_back(i);
      });
      test::yield_until("the next waiter",
                        [&] { return mutex.waiting() == static_cast<std::size_t>(i) + 1; });
    }
    // The lock is released before the threads are joined: a scope destroys its variables last to
    // first.
  }

  std::vector<int> expected;
  for (int i = 0; i < kThreads; ++i) expected.push_back(i);
  EXPECT_EQ(served, expected);
}

TEST(FifoMutex, AdmitsOneThreadAtATime) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 2000;
  FifoMutex mutex;
  int count = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&] {
        for (int round = 0; round < kRounds; ++round) {
          const std::lock_guard lock(mutex);
          ++count;
        }
      });
  }

  EXPECT_EQ(count, kThreads * kRounds);
}

}  // namespace
}  // namespace vcap::detail
