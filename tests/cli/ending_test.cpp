// SPDX-License-Identifier: Apache-2.0
#include "cli/ending.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <thread>
#include <vector>

#include "cli/signal_count.hpp"

namespace vcap::cli {
namespace {

using namespace std::chrono_literals;
using Step = Ending::Step;

/// A time of the test.
Clock::time_point at(Clock::duration time) { return Clock::time_point(1h) + time; }

TEST(Ending, WaitsUntilSomethingIsAskedFor) {
  Ending ending(10s);
  EXPECT_EQ(ending.next(at(0s), 0, false), Step::wait);
  EXPECT_EQ(ending.wakes_at(), std::nullopt);
  EXPECT_EQ(ending.next(at(1h), 0, false), Step::wait);
}

TEST(Ending, StopsGivesUpAfterTheGraceAndLeavesAfterItOnceMore) {
  Ending ending(10s);
  EXPECT_EQ(ending.next(at(0s), 1, false), Step::stop);
  EXPECT_EQ(ending.next(at(0s), 1, false), Step::wait);
  EXPECT_EQ(ending.wakes_at(), at(10s));
  EXPECT_EQ(ending.next(at(10s - 1ns), 1, false), Step::wait);
  EXPECT_EQ(ending.next(at(10s), 1, false), Step::give_up);
  EXPECT_EQ(ending.age(), 1s) << "a call that has just begun may be quick";
  EXPECT_EQ(ending.next(at(10s), 1, false), Step::wait);
  EXPECT_EQ(ending.wakes_at(), at(11s));
  EXPECT_EQ(ending.next(at(11s), 1, false), Step::give_up) << "frames may have met another hang";
  EXPECT_EQ(ending.next(at(20s), 1, false), Step::leave);
}

TEST(Ending, GivesRecordsAtLeastThreeSeconds) {
  Ending ending(0s);
  EXPECT_EQ(ending.next(at(0s), 1, false), Step::stop);
  EXPECT_EQ(ending.next(at(0s), 1, false), Step::give_up);
  EXPECT_EQ(ending.age(), 0s);
  EXPECT_EQ(ending.next(at(2999ms), 1, false), Step::give_up);
  EXPECT_EQ(ending.next(at(3s), 1, false), Step::leave);
}

TEST(Ending, HurriesAtASecondSignal) {
  Ending ending(600s);
  EXPECT_EQ(ending.next(at(0s), 1, false), Step::stop);
  EXPECT_EQ(ending.next(at(5s), 2, false), Step::give_up);
  EXPECT_EQ(ending.age(), 0s) << "the user does not want to wait for any call";
  EXPECT_EQ(ending.next(at(5s), 2, false), Step::wait);
  EXPECT_EQ(ending.next(at(8s), 2, false), Step::leave);
}

TEST(Ending, StopsBeforeItHurriesIfBothSignalsHaveCome) {
  Ending ending(600s);
  EXPECT_EQ(ending.next(at(0s), 2, false), Step::stop);
  EXPECT_EQ(ending.next(at(0s), 2, false), Step::give_up);
}

TEST(Ending, GivesUpTheCallThatEndedTheProcessAfterASecond) {
  Ending ending(600s);
  EXPECT_EQ(ending.next(at(0s), 0, true), Step::stop);
  EXPECT_EQ(ending.next(at(0s), 0, true), Step::wait);
  EXPECT_EQ(ending.wakes_at(), at(1s));
  EXPECT_EQ(ending.next(at(1s), 0, true), Step::give_up);
  EXPECT_EQ(ending.age(), 1s) << "other calls may go on";
}

TEST(Ending, NeverGoesBackToALaterEnd) {
  Ending ending(2s);
  EXPECT_EQ(ending.next(at(0s), 1, false), Step::stop);
  EXPECT_EQ(ending.next(at(2s), 1, false), Step::give_up);
  EXPECT_EQ(ending.next(at(4900ms), 2, true), Step::give_up);
  EXPECT_EQ(ending.next(at(5s), 2, true), Step::leave);
  EXPECT_EQ(ending.next(at(6s), 3, true), Step::leave);
}

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(SignalCount, TakesSignalsWithinASecondAsOne) {
  SignalCount signals;
  EXPECT_EQ(signals.add(5), 1) << "also in the first second of the clock";
  EXPECT_EQ(signals.add(6), 0);
  EXPECT_EQ(signals.add(kSecond + 4), 0);
  EXPECT_EQ(signals.add(kSecond + 5), 2);
  EXPECT_EQ(signals.add(kSecond + 6), 0) << "the second begins anew";
  EXPECT_EQ(signals.add(3 * kSecond), 3);
  EXPECT_EQ(signals.count(), 3);
}

TEST(SignalCount, TakesSignalsThatThreadsGetAtOnceAsOne) {
  constexpr int kThreads = 4;
  SignalCount signals;
  for (int round = 0; round < 200; ++round) {
    signals.reset();
    std::latch begin(kThreads);
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < kThreads; ++i)
        threads.emplace_back([&] {
          begin.arrive_and_wait();
          signals.add(kSecond);
        });
    }
    ASSERT_EQ(signals.count(), 1) << "round " << round;
  }
}

TEST(SignalCount, BeginsAnew) {
  SignalCount signals;
  signals.add(kSecond);
  signals.reset();
  EXPECT_EQ(signals.count(), 0);
  EXPECT_EQ(signals.add(kSecond + 1), 1);
}

}  // namespace
}  // namespace vcap::cli
