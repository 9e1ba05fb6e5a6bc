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
    const Watchdog::Watch ended = dog.watch(seconds(1), [&] { return ended_called = true; });
    clock->await_sleeper(clock->now() + seconds(1));
  }
  const Watchdog::Watch watch = dog.watch(seconds(2), [&] {
    late.open();
    return true;
  });
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
  const Watchdog::Watch far = dog.watch(seconds(60), [&] { return second = true; });
  const Watchdog::Watch near = dog.watch(seconds(1), [&] {
    first.open();
    return true;
  });
  clock->await_sleeper(clock->now() + seconds(1));
  clock->advance(seconds(1));
  first.wait();
  EXPECT_FALSE(second);
}

TEST(Watchdog, DoesNotWakeForWatchesThatEndInTime) {
  const auto clock = std::make_shared<ManualClock>();
  Watchdog dog(clock);
  dog.start();
  const Watchdog::Watch first = dog.watch(seconds(1), [] { return true; });
  clock->await_sleeper(clock->now() + seconds(1));
  const std::size_t sleeps = clock->sleeps();
  for (int i = 0; i < 1000; ++i)
    const Watchdog::Watch watch = dog.watch(seconds(1), [] { return true; });
  EXPECT_EQ(clock->sleeps(), sleeps);
}

TEST(Watchdog, ExpiresWatchesByTheirAgeInTheCallersThread) {
  const auto clock = std::make_shared<ManualClock>();
  Watchdog dog(clock);  // has no thread
  std::vector<int> called;
  const auto note = [&called](int number, bool result = true) {
    return [&called, number, result] {
      called.push_back(number);
      EXPECT_TRUE(Watchdog::is_expiring());
      return result;
    };
  };
  const Watchdog::Watch old = dog.watch(Watchdog::kNoLimit, note(1));
  Watchdog::Watch ended = dog.watch(Watchdog::kNoLimit, note(2));
  ended.end();
  clock->advance(seconds(2));
  const Watchdog::Watch young = dog.watch(Watchdog::kNoLimit, note(3));
  EXPECT_EQ(dog.expire(seconds(2)), 1u);
  EXPECT_FALSE(Watchdog::is_expiring());
  EXPECT_EQ(called, std::vector<int>{1});
  const Watchdog::Watch of_older = dog.watch(Watchdog::kNoLimit, note(4), seconds(2));
  EXPECT_EQ(dog.expire(seconds(2)), 1u) << "it began before its watch";
  EXPECT_EQ(dog.expire(seconds(0)), 1u) << "a watch is called once";
  EXPECT_EQ(called, (std::vector<int>{1, 4, 3}));
  const Watchdog::Watch just_ended = dog.watch(Watchdog::kNoLimit, note(5, false));
  EXPECT_EQ(dog.expire(seconds(0)), 0u) << "its callback has found nothing to do";
}

TEST(Watchdog, AcceptsTheLongestLimit) {
  const auto clock = std::make_shared<ManualClock>();
  Watchdog dog(clock);
  dog.start();
  std::atomic<bool> called = false;
  const Watchdog::Watch watch = dog.watch(Clock::duration::max(), [&] { return called = true; });
  clock->advance(std::chrono::hours(1000));
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace vcap::test
