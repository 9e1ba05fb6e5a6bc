// SPDX-License-Identifier: Apache-2.0
#include "sources/live_times.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace vcap::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using Told = std::optional<nanoseconds>;

class LiveTimesTest : public testing::Test {
 protected:
  /// The time of a picture that comes `wait` after the previous one.
  LiveTimes::Time after(nanoseconds wait, Told told = std::nullopt) {
    at_ += wait;
    return times_.next(at_, told);
  }
  /// Twenty pictures at 25 per second. The camera gives the last one the time `told`.
  void at_usual_pace(nanoseconds told) {
    for (int i = 19; i >= 0; --i) after(40ms, told - i * 40ms);
  }

  LiveTimes times_;
  std::chrono::steady_clock::time_point at_{12345s};
};

TEST_F(LiveTimesTest, AreTimesOfArrivalIfTheCameraGivesNone) {
  EXPECT_EQ(after(0ms).pts, 0ms);
  EXPECT_EQ(after(40ms).pts, 40ms);
  EXPECT_EQ(after(0ms).pts, 40ms + 1ns) << "times must rise strictly";
  const LiveTimes::Time late = after(20s);
  EXPECT_EQ(late.pts, 20s + 40ms + 1ns);
  EXPECT_FALSE(late.gap) << "without the camera's times, a gap is not known";
}

TEST_F(LiveTimesTest, FollowTheCameraFromTheFirstPictureOn) {
  EXPECT_EQ(after(0ms, 7s).pts, 0ms);
  EXPECT_EQ(after(55ms, 7s + 40ms).pts, 40ms);
  EXPECT_EQ(after(25ms, 7s + 80ms).pts, 80ms);
}

TEST_F(LiveTimesTest, KeepThePaceOfTheCameraWhenPicturesArriveLate) {
  after(0ms, 0ms);
  EXPECT_EQ(after(3s, 40ms).pts, 40ms);
  for (int i = 2; i < 60; ++i) {
    const LiveTimes::Time time = after(1ms, i * 40ms);
    EXPECT_EQ(time.pts, i * 40ms);
    EXPECT_FALSE(time.gap);
  }
}

TEST_F(LiveTimesTest, MarkMissingPicturesAsAGap) {
  at_usual_pace(1s);
  EXPECT_FALSE(after(900ms, 1900ms).gap) << "a pause of at most a second is no gap";
  at_usual_pace(5s);
  const LiveTimes::Time late = after(2s, 7s);
  EXPECT_TRUE(late.gap);
  EXPECT_FALSE(after(40ms, 7040ms).gap);
  at_usual_pace(9s);
  EXPECT_TRUE(after(40ms, 12s).gap) << "pictures lost without a wait are a gap, too";
}

TEST_F(LiveTimesTest, ShowNoGapForASlowCamera) {
  after(0s, 0s);
  for (int i = 1; i < 20; ++i) EXPECT_FALSE(after(2s, i * 2s).gap);
  EXPECT_FALSE(after(9s, 47s).gap) << "five pictures";
  EXPECT_TRUE(after(40s, 87s).gap);
}

TEST_F(LiveTimesTest, ContinueWhenTheClockOfTheCameraIsSet) {
  at_usual_pace(100s);
  const nanoseconds before = after(40ms, 100s + 40ms).pts;
  LiveTimes::Time time = after(40ms, 2s);
  EXPECT_EQ(time.pts, before + 40ms);
  EXPECT_TRUE(time.gap) << "the camera may have been restarted";
  EXPECT_EQ(after(40ms, 2s + 30ms).pts, before + 70ms) << "the camera's new times must be used";
  time = after(40ms, 3600s);
  EXPECT_EQ(time.pts, before + 120ms) << "the time of arrival must be used";
  EXPECT_TRUE(time.gap);
}

TEST_F(LiveTimesTest, RiseEvenIfTimesOfTheCameraDoNot) {
  at_usual_pace(100s);
  const nanoseconds before = after(40ms, 100s + 40ms).pts;
  for (const nanoseconds told : {100s + 40ms, 100s + 30ms}) {
    const LiveTimes::Time time = after(40ms, told);
    EXPECT_LE(time.pts, before + 2ns);
    EXPECT_GT(time.pts, before);
    EXPECT_FALSE(time.gap);
  }
  EXPECT_EQ(after(40ms, 100s + 160ms).pts, before + 120ms) << "times must continue as before";
}

TEST_F(LiveTimesTest, AdaptToACameraThatBecomesSlow) {
  at_usual_pace(100s);
  int gaps = 0;
  for (int i = 1; i <= 20; ++i) {
    const LiveTimes::Time time = after(2s, 100s + i * 2s);
    EXPECT_EQ(time.pts, 40ms * 19 + i * 2s);
    gaps += time.gap ? 1 : 0;
  }
  EXPECT_GE(gaps, 1);
  EXPECT_LE(gaps, 2);
}

TEST_F(LiveTimesTest, StartAgainWithEachConnection) {
  after(0ms, 500s);
  EXPECT_EQ(after(40ms, 500s + 40ms).pts, 40ms);
  times_.begin_connection();
  const LiveTimes::Time again = after(10s, 3s);
  EXPECT_EQ(again.pts, 10s + 40ms);
  EXPECT_FALSE(again.gap) << "`reconnect` already shows the loss";
  EXPECT_EQ(after(70ms, 3s + 40ms).pts, 10s + 80ms);
}

TEST_F(LiveTimesTest, RiseEvenIfTheOldConnectionWasAheadOfTheNew) {
  after(0ms, 0s);
  for (int i = 1; i < 100; ++i) after(1ms, i * 40ms);  // a backlog that arrives all at once
  times_.begin_connection();
  EXPECT_EQ(after(1ms, 0s).pts, 99 * 40ms + 1ns);
  EXPECT_EQ(after(40ms, 40ms).pts, 99 * 40ms + 1ns + 40ms);
}

TEST_F(LiveTimesTest, ContinueIfSomePicturesHaveNoTime) {
  after(0ms, 0s);
  after(40ms, 40ms);
  EXPECT_EQ(after(45ms).pts, 85ms);
  EXPECT_EQ(after(35ms, 120ms).pts, 120ms);
}

}  // namespace
}  // namespace vcap::test
