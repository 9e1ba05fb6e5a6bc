// SPDX-License-Identifier: Apache-2.0
#include "workers/in_flight_limiter.hpp"

#include <gmock/gmock.h>

#include <thread>

#include "support/pipeline_helpers.hpp"
#include "vcap/sources/frame_feed.hpp"

namespace vcap::test {
namespace {

TEST(InFlightLimiter, GivesAsManySlotsAsItHas) {
  InFlightLimiter limit(2);
  EXPECT_TRUE(limit.try_take());
  EXPECT_TRUE(limit.try_take());
  EXPECT_FALSE(limit.try_take());
  limit.give_back(1);
  EXPECT_TRUE(limit.try_take());
}

TEST(InFlightLimiter, HasNoBoundIfItIsZero) {
  InFlightLimiter limit(0);
  InFlightLimiter::Waiter waiter;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(limit.try_take() && limit.wait(waiter));
}

TEST(InFlightLimiter, ReleasesAWaiterWithoutASlot) {
  InFlightLimiter limit(1);
  ASSERT_TRUE(limit.try_take());
  InFlightLimiter::Waiter waiter;
  limit.release(waiter);
  EXPECT_FALSE(limit.wait(waiter)) << "a release before the wait counts";
  limit.reset(waiter);
  bool granted = true;
  std::thread waiting([&] { granted = limit.wait(waiter); });
  limit.release(waiter);
  waiting.join();
  EXPECT_FALSE(granted);
  limit.give_back(1);
  EXPECT_TRUE(limit.try_take()) << "no waiter must be left";
}

TEST(InFlightLimiter, ServesWaitersBeforeNewcomers) {
  InFlightLimiter limit(1);
  ASSERT_TRUE(limit.try_take());
  InFlightLimiter::Waiter waiter;
  std::atomic<bool> granted = false;
  std::thread waiting([&] { granted = limit.wait(waiter); });
  // try_take() fails only when the waiter is in line and has got the slot.
  while (!granted) {
    limit.give_back(1);
    if (limit.try_take()) continue;
    break;
  }
  waiting.join();
  EXPECT_TRUE(granted);
  EXPECT_FALSE(limit.try_take());
}

cv::Mat small_image() { return cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(0)); }

TEST(PipelineFramesInFlight, AreBoundedOverAllStreams) {
  constexpr std::size_t kBound = 3;
  constexpr int kStreams = 4;
  std::atomic<int> inside = 0, most = 0;
  Pipeline pipeline(
      {make_capsule(detector_info("slow", "person"),
                    [&](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) {
                      const int now = ++inside;
                      int seen = most;
                      while (now > seen && !most.compare_exchange_weak(seen, now)) {
                      }
                      for (int i = 0; i < 20; ++i) std::this_thread::yield();
                      --inside;
                      return DetectionNodes::all();
                    })},
      {.workers = 32, .frames_in_flight = kBound});
  std::atomic<std::size_t> widest = 0;
  for (int i = 0; i < kStreams; ++i)
    pipeline.open_stream({.id = std::to_string(i),
                          .source = make_source(200),
                          .sinks = {make_callback_sink([&](const FrameRecord&) {
                            widest = std::max<std::size_t>(widest, pipeline.stats().in_flight);
                          })},
                          .frames_in_flight = 16});
  for (int i = 0; i < kStreams; ++i) EXPECT_EQ(pipeline.wait(std::to_string(i)).frames, 200);
  // One frame of each stream needs no slot. While a record is written, the next frame is read.
  // stats() looks at one stream after another, and a slot may go from one to the next meanwhile; so
  // only each stream's part is bounded. Without a bound, it is 16.
  EXPECT_LE(widest, kStreams * (kBound + 2));
  EXPECT_LE(most, static_cast<int>(kBound) + kStreams);
}

TEST(PipelineFramesInFlight, DoNotStopOtherStreamsIfOneStreamKeepsThem) {
  Pipeline pipeline({make_detector("people", "person")}, {.frames_in_flight = 2});
  FrameFeed held;
  pipeline.open_stream(
      {.id = "held", .source = held.source(), .frames_in_flight = 8, .pull = true});
  std::thread pushing([&] {
    for (int i = 0; i < 6; ++i) held.push(small_image());
    held.end();
  });
  // The stream takes both slots, besides its one frame without a slot, and no thread pulls.
  yield_until("three frames in flight", [&] { return pipeline.stats().in_flight >= 3; });
  EXPECT_EQ(run(pipeline, {.source = make_source(50)}).size(), 50u);
  int pulled = 0;
  while (pipeline.next("held")) ++pulled;
  EXPECT_EQ(pulled, 6);
  pushing.join();
}

TEST(PipelineFramesInFlight, AreDroppedBeyondTheBoundForLiveStreams) {
  Latch release;
  Pipeline pipeline(
      {make_capsule(detector_info("slow", "person"),
                    [&](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) {
                      release.wait();
                      return DetectionNodes::all();
                    })},
      {.workers = 8, .frames_in_flight = 1});
  for (const OverflowPolicy policy : {OverflowPolicy::drop_oldest, OverflowPolicy::drop_newest}) {
    FrameFeed feed({.live = true});
    const std::string id = std::to_string(static_cast<int>(policy));
    pipeline.open_stream(
        {.id = id, .source = feed.source(), .overflow = policy, .frames_in_flight = 8});
    for (int i = 0; i < 10; ++i) feed.push(small_image());
    yield_until("ten frames", [&] { return pipeline.stats().streams.back().read >= 10; });
    EXPECT_LE(pipeline.stats().streams.back().in_flight, 2u);
    EXPECT_GE(pipeline.stats().streams.back().drops.at("overload"), 8);
  }
  release.open();
}

}  // namespace
}  // namespace vcap::test
