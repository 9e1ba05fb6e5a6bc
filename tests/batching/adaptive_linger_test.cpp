// SPDX-License-Identifier: Apache-2.0
#include "batching/adaptive_linger.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace vcap::detail {
namespace {

using namespace std::chrono_literals;
using time_point = Clock::time_point;

constexpr time_point kStart{1h};
constexpr time_point kNobody = time_point::min();

TEST(AdaptiveLinger, DoesNotWaitBeforeABatchWasMeasured) {
  AdaptiveLinger linger(true, 0.1);
  linger.arrived(kStart);
  EXPECT_EQ(linger.until(), kNobody);
}

TEST(AdaptiveLinger, WaitsForTheAnsweredCallersWithinAShareOfThePredictTime) {
  AdaptiveLinger linger(true, 0.1);
  linger.completed(3, kStart, 20ms);
  linger.arrived(kStart + 1ms);
  linger.arrived(kStart + 1ms);
  EXPECT_EQ(linger.until(), kStart + 2ms);
}

TEST(AdaptiveLinger, WaitsLongerWhileCallersComeBack) {
  AdaptiveLinger linger(true, 0.1);
  linger.completed(8, kStart, 20ms);
  linger.arrived(kStart + 1500us);
  EXPECT_EQ(linger.until(), kStart + 2500us);
  linger.arrived(kStart + 2400us);
  EXPECT_EQ(linger.until(), kStart + 3400us);
  linger.arrived(kStart + 3500us);  // too late
  EXPECT_EQ(linger.until(), kStart + 3400us);
}

TEST(AdaptiveLinger, IsNotExtendedByACallerThatComesAtItsEnd) {
  AdaptiveLinger linger(true, 0.1);
  linger.completed(8, kStart, 20ms);
  linger.arrived(kStart + 2ms);
  EXPECT_EQ(linger.until(), kStart + 2ms);
}

TEST(AdaptiveLinger, WaitsAtMostThreeTimesItsShare) {
  AdaptiveLinger linger(true, 0.1);
  linger.completed(100, kStart, 20ms);
  for (auto after = 0us; after < 10ms; after += 500us) linger.arrived(kStart + after);
  EXPECT_EQ(linger.until(), kStart + 6ms);
}

TEST(AdaptiveLinger, StopsWaitingOnceAllCallersAreBack) {
  AdaptiveLinger linger(true, 0.1);
  linger.completed(2, kStart, 20ms);
  linger.arrived(kStart);
  linger.arrived(kStart);
  EXPECT_EQ(linger.until(), kNobody);
}

TEST(AdaptiveLinger, NeverDelaysASingleCaller) {
  AdaptiveLinger linger(true, 0.1);
  for (int i = 0; i < 100; ++i) {
    linger.completed(1, kStart, 20ms);
    linger.arrived(kStart);
    ASSERT_EQ(linger.until(), kNobody);
  }
}

TEST(AdaptiveLinger, LearnsThatCallersDoNotComeBackInTime) {
  AdaptiveLinger linger(true, 0.1);
  time_point now = kStart;
  for (int i = 0; i < 20; ++i) {
    linger.completed(4, now, 20ms);
    for (int caller = 0; caller < 4; ++caller) linger.arrived(now + 5ms);
    now += 30ms;
  }
  linger.completed(4, now, 20ms);
  EXPECT_EQ(linger.until(), kNobody);
}

TEST(AdaptiveLinger, LearnsThatCallersComeBackInTimeAgain) {
  AdaptiveLinger linger(true, 0.1);
  time_point now = kStart;
  for (const auto away : {5ms, 1ms})
    for (int i = 0; i < 20; ++i) {
      linger.completed(4, now, 20ms);
      for (int caller = 0; caller < 4; ++caller) linger.arrived(now + away);
      now += 30ms;
    }
  linger.completed(4, now, 20ms);
  for (int caller = 0; caller < 3; ++caller) linger.arrived(now);
  EXPECT_EQ(linger.until(), now + 2ms);
}

TEST(AdaptiveLinger, DoesNotWaitWhenItIsOff) {
  AdaptiveLinger linger(false, 0.1);
  linger.completed(3, kStart, 20ms);
  linger.arrived(kStart);
  EXPECT_EQ(linger.until(), kNobody);
}

}  // namespace
}  // namespace vcap::detail
