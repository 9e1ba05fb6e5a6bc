// SPDX-License-Identifier: Apache-2.0
#include "workers/watchdog.hpp"

#include <gtest/gtest.h>

#include "support/manual_clock.hpp"
#include "support/runtime_fixtures.hpp"

namespace vcap::test {
namespace {

using std::chrono::seconds;

TEST(Watchdog, CallsWhenADeadlineHasPassed) {
  const auto clock = std::make_shared<ManualClock>();
  Latch late;
  bool ended_called = false;
  Watchdog dog(clock);
  dog.start();
  {
    const Watchdog::Watch ended = dog.watch(seconds(1), [&] { ended_called = true; });
    clock->await_sleeper(clock->now() + seconds(1));
  }
  const Watchdog::Watch watch = dog.watch(seconds(2), [&] { late.open(); });
  clock->advance(seconds(1));
  clock->await_sleeper(clock->now() + seconds(1));
  clock->advance(seconds(1));
  late.wait();
  EXPECT_FALSE(ended_called);
}

TEST(Watchdog, FollowsTheEarliestDeadlineInAnyOrder) {
  const auto clock = std::make_shared<ManualClock>();
  Latch first;
  std::atomic<bool> second = false;
  Watchdog dog(clock);
  dog.start();
  const Watchdog::Watch far = dog.watch(seconds(60), [&] { second = true; });
  const Watchdog::Watch near = dog.watch(seconds(1), [&] { first.open(); });
  clock->await_sleeper(clock->now() + seconds(1));
  clock->advance(seconds(1));
  first.wait();
  EXPECT_FALSE(second);
}

TEST(Watchdog, DoesNotWakeForWatchesThatEndInTime) {
  const auto clock = std::make_shared<ManualClock>();
  Watchdog dog(clock);
  dog.start();
  const Watchdog::Watch first = dog.watch(seconds(1), [] {});
  clock->await_sleeper(clock->now() + seconds(1));
  const std::size_t sleeps = clock->sleeps();
  for (int i = 0; i < 1000; ++i) const Watchdog::Watch watch = dog.watch(seconds(1), [] {});
  EXPECT_EQ(clock->sleeps(), sleeps);
}

TEST(Watchdog, AcceptsTheLongestLimit) {
  const auto clock = std::make_shared<ManualClock>();
  Watchdog dog(clock);
  dog.start();
  std::atomic<bool> called = false;
  const Watchdog::Watch watch = dog.watch(Clock::duration::max(), [&] { called = true; });
  clock->advance(std::chrono::hours(1000));
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace vcap::test
