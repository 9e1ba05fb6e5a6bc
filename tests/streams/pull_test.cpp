// SPDX-License-Identifier: Apache-2.0
// Records that a host pulls one by one, and frames that it pushes.
#include <gmock/gmock.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "support/bounded_wait.hpp"
#include "support/pipeline_helpers.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/sources/frame_feed.hpp"

namespace vcap::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

cv::Mat picture(int value = 0) { return {cv::Size(16, 12), CV_8UC3, cv::Scalar::all(value)}; }

std::vector<std::int64_t> pulled_indexes(Pipeline& pipeline, const std::string& id) {
  std::vector<std::int64_t> indexes;
  while (const std::optional<FrameRecord> record = pipeline.next(id))
    indexes.push_back(record->frame.index);
  return indexes;
}

TEST(PulledStream, GivesItsRecordsInOrderAndThenNullopt) {
  Pipeline pipeline({make_detector("people", "person")});
  std::vector<std::int64_t> written;
  pipeline.open_stream({.id = "a",
                        .source = make_source(20),
                        .sinks = {make_callback_sink([&](const FrameRecord& record) {
                          written.push_back(record.frame.index);
                        })},
                        .pull = true});
  std::vector<std::int64_t> expected(20);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<std::int64_t>(i);
  EXPECT_EQ(pulled_indexes(pipeline, "a"), expected);
  EXPECT_EQ(written, expected);
  EXPECT_EQ(pipeline.try_next("a"), std::nullopt);
  const StreamReport report = pipeline.wait("a");
  EXPECT_EQ(report.frames, 20);
  EXPECT_TRUE(report.drops.empty());
}

TEST(PulledStream, GivesNulloptWithoutAWaitUntilThereIsARecord) {
  Latch entered, release;
  Pipeline pipeline(
      {make_capsule(all_info("slow", "person"),
                    [&](const Frame&, DetectionNodes nodes, const OptionValues&, BaseStreamState&) {
                      entered.open();
                      release.wait();
                      return nodes;
                    }),
       make_detector("people", "person")});
  pipeline.open_stream({.id = "a", .source = make_source(1), .pull = true});
  entered.wait();
  EXPECT_EQ(pipeline.try_next("a"), std::nullopt);
  release.open();
  std::optional<FrameRecord> record;
  yield_until("a record", [&] { return (record = pipeline.try_next("a")).has_value(); });
  EXPECT_EQ(record->frame.index, 0);
  EXPECT_EQ(pipeline.next("a"), std::nullopt);
  EXPECT_EQ(pipeline.try_next("a"), std::nullopt);
}

TEST(PulledStream, HoldsNoMoreThanItsFramesInFlight) {
  Pipeline pipeline({});
  std::atomic<std::int64_t> given{0};
  pipeline.open_stream(
      {.id = "a",
       .source = std::make_unique<MemorySource>(MemorySource::Plan{.frames = -1, .given = &given}),
       .frames_in_flight = 3,
       .pull = true});
  for (std::int64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(pipeline.next("a")->frame.index, i);
    EXPECT_LE(given, i + 4);
  }
  const StreamReport report = pipeline.close_stream("a");
  EXPECT_EQ(report.frames, 10);
  EXPECT_EQ(report.frames + (report.drops.empty() ? 0 : report.drops.at("closed")), given);
}

TEST(PulledStream, MakesRoomForAFrameWithEachPulledRecord) {
  Pipeline pipeline({});
  FrameFeed feed({.capacity = 1});
  pipeline.open_stream({.id = "a", .source = feed.source(), .frames_in_flight = 32, .pull = true});
  for (int i = 0; i < 33; ++i) feed.push(picture());  // one of them waits in the feed
  // One thread pulls and pushes in turn, so each push must return.
  for (std::int64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(pipeline.next("a")->frame.index, i);
    EXPECT_TRUE(feed.push(picture()));
  }
}

TEST(PulledStream, SharesRecordsAmongThreadsThatPull) {
  Pipeline pipeline({make_detector("people", "person")});
  pipeline.open_stream({.id = "a", .source = make_source(200), .pull = true});
  std::vector<std::vector<std::int64_t>> shares(3);
  std::vector<std::thread> pullers;
  for (auto& share : shares)
    pullers.emplace_back([&pipeline, &share] { share = pulled_indexes(pipeline, "a"); });
  for (std::thread& puller : pullers) puller.join();
  std::vector<std::int64_t> all;
  for (const auto& share : shares) {
    EXPECT_TRUE(std::ranges::is_sorted(share));
    all.insert(all.end(), share.begin(), share.end());
  }
  EXPECT_EQ(all.size(), 200u);
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), 200u);
}

TEST(PulledStream, WakesPullingThreadsWhenItIsClosed) {
  Pipeline pipeline({});
  FrameFeed feed;
  pipeline.open_stream({.id = "a", .source = feed.source(), .pull = true});
  std::thread puller([&] {
    try {
      EXPECT_EQ(pipeline.next("a"), std::nullopt);
    } catch (const SourceError& closed_before) {
    }
  });
  yield_until("the stream", [&] { return !pipeline.reports().empty(); });
  pipeline.close_stream("a");
  puller.join();
}

TEST(PulledStream, EndsWhenItsSinkFails) {
  Pipeline pipeline({});
  pipeline.open_stream({.id = "a",
                        .source = make_source(5),
                        .sinks = {make_callback_sink([](const FrameRecord& record) {
                          if (record.frame.index == 2)
                            throw OutputError(ErrorCode::output_write, "full");
                        })},
                        .pull = true});
  EXPECT_THAT(pulled_indexes(pipeline, "a"), ElementsAre(0, 1));
  const StreamReport report = pipeline.wait("a");
  EXPECT_EQ(report.failure, "full");
  EXPECT_EQ(report.frames, 2);
}

TEST(PulledStream, IsTheOnlyKindThatCanBePulled) {
  Pipeline pipeline({});
  pipeline.open_stream({.id = "a", .source = make_source(1)});
  EXPECT_THAT(
      [&] { pipeline.next("a"); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("StreamConfig::pull")));
  EXPECT_THAT([&] { pipeline.try_next("b"); },
              ThrowsError<SourceError>(ErrorCode::unknown_stream, HasSubstr("b")));
}

TEST(StreamOverflow, DropsTheNewestOnRequest) {
  Pipeline pipeline({});
  FrameFeed feed({.capacity = 10});
  pipeline.open_stream({.id = "a",
                        .source = feed.source(),
                        .overflow = OverflowPolicy::drop_newest,
                        .frames_in_flight = 2,
                        .pull = true});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(feed.push(picture()));
  // Nothing is pulled until all frames are read: two are in flight, and the others have no room.
  yield_until("three drops", [&] { return pipeline.reports().front().drops["overload"] >= 3; });
  EXPECT_EQ(pipeline.next("a")->frame.index, 0);
  EXPECT_TRUE(feed.push(picture()));
  feed.end();
  EXPECT_EQ(pipeline.next("a")->frame.index, 1);
  const std::optional<FrameRecord> after = pipeline.next("a");
  ASSERT_TRUE(after);
  EXPECT_EQ(after->frame.index, 5);
  std::vector<std::int64_t> told;
  for (const FrameRecord::Drop& drop : after->drops) told.push_back(drop.frame_index);
  EXPECT_THAT(told, ElementsAre(2, 3, 4));
  EXPECT_EQ(pipeline.next("a"), std::nullopt);
  const StreamReport report = pipeline.wait("a");
  EXPECT_EQ(report.frames, 3);
  EXPECT_THAT(report.drops, ElementsAre(Pair("overload", 3)));
}

TEST(StreamOverflow, KeepsEveryNthAndReportsTheOthers) {
  Pipeline pipeline({});
  const auto records = run(pipeline, {.source = make_source(7), .keep_every = 3});
  std::vector<std::int64_t> recorded, told;
  for (const FrameRecord& record : records) {
    recorded.push_back(record.frame.index);
    for (const FrameRecord::Drop& drop : record.drops) {
      EXPECT_EQ(drop.reason, "skipped");
      told.push_back(drop.frame_index);
    }
  }
  EXPECT_THAT(recorded, ElementsAre(0, 3, 6));
  EXPECT_THAT(told, ElementsAre(1, 2, 4, 5));
}

/// The records of a stream; frame 0 stays in a capsule until all frames are read.
std::vector<FrameRecord> records_behind_frame_0(int frames, StreamConfig config,
                                                std::function<void(Frame&)> before = {}) {
  Latch begun, go;
  Pipeline pipeline(
      {make_capsule(detector_info("slow", "person"),
                    [&](const Frame& frame, DetectionNodes, const OptionValues&, BaseStreamState&) {
                      if (frame.index == 0) {
                        begun.open();
                        go.wait();
                      }
                      return DetectionNodes::all();
                    })},
      {.workers = 1});
  config.source =
      std::make_unique<MemorySource>(MemorySource::Plan{.frames = frames,
                                                        .live = true,
                                                        .before =
                                                            [&](Frame& frame) {
                                                              if (frame.index == 1) begun.wait();
                                                              if (before) before(frame);
                                                            },
                                                        .after_last = [&] { go.open(); }});
  return run(pipeline, std::move(config));
}

TEST(StreamOverflow, ReportsASkippedFrameInTheNextRecord) {
  const auto records = records_behind_frame_0(
      7, {.overflow = OverflowPolicy::drop_newest, .frames_in_flight = 10, .keep_every = 2},
      [](Frame& frame) {
        if (frame.index == 3) frame.discontinuity = Discontinuity::reconnect;
      });
  ASSERT_EQ(records.size(), 4u);
  for (std::size_t i = 1; i < records.size(); ++i) {
    ASSERT_EQ(records[i].drops.size(), 1u) << "record " << i;
    EXPECT_EQ(records[i].drops[0].frame_index, 2 * static_cast<int>(i) - 1);
    EXPECT_EQ(records[i].frame.discontinuity,
              i == 2 ? Discontinuity::reconnect : Discontinuity::none)
        << "record " << i;
  }
}

TEST(StreamOverflow, DoesNotReportDropsAfterTheLastRecord) {
  const auto records = records_behind_frame_0(
      12, {.overflow = OverflowPolicy::drop_newest, .frames_in_flight = 3}, [](Frame& frame) {
        if (frame.index == 5) frame.discontinuity = Discontinuity::reconnect;
      });
  ASSERT_EQ(records.size(), 3u) << "the last drops have no record after them";
  for (const FrameRecord& record : records) {
    EXPECT_TRUE(record.drops.empty());
    EXPECT_EQ(record.frame.discontinuity,
              record.frame.index > 0 ? Discontinuity::none : Discontinuity::start);
  }
}

TEST(StreamOverflow, PassesOnDropsAndDiscontinuityOfADroppedFrame) {
  const auto records = records_behind_frame_0(
      8, {.overflow = OverflowPolicy::drop_oldest, .frames_in_flight = 3, .keep_every = 2},
      [](Frame& frame) {
        if (frame.index == 1) frame.discontinuity = Discontinuity::loop;
      });
  // 0 is in the capsule; 2 and 4 wait until 6 comes.
  std::vector<std::pair<std::int64_t, std::string>> told;
  for (const FrameRecord& record : records)
    for (const FrameRecord::Drop& drop : record.drops) {
      EXPECT_LT(drop.frame_index, record.frame.index);
      told.emplace_back(drop.frame_index, drop.reason);
    }
  EXPECT_THAT(told, ElementsAre(Pair(1, "skipped"), Pair(2, "overload"), Pair(3, "skipped"),
                                Pair(5, "skipped")));
  ASSERT_GE(records.size(), 2u);
  EXPECT_EQ(records[1].frame.index, 4);
  EXPECT_EQ(records[1].frame.discontinuity, Discontinuity::loop);
}

TEST(StreamOverflow, ReportsManyDropsInOneSmallRecord) {
  const auto records = records_behind_frame_0(
      5001, {.overflow = OverflowPolicy::drop_oldest, .frames_in_flight = 1, .keep_every = 2});
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].frame.index, 5000);
  EXPECT_EQ(records[1].drops.size(), 1000u);
  std::map<std::string, std::int64_t> told;
  for (const FrameRecord::Drop& drop : records[1].drops) told[drop.reason] += drop.count;
  EXPECT_THAT(told, ElementsAre(Pair("overload", 2499), Pair("skipped", 2500)));
}

TEST(StreamOverflow, RefusesToKeepEveryZerothFrame) {
  Pipeline pipeline({});
  EXPECT_THAT([&] { pipeline.open_stream({.id = "a", .source = make_source(1), .keep_every = 0}); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("keep_every")));
}

TEST(FrameFeed, ContinuesWhenASinkWaitsForThePushingThread) {
  Pipeline pipeline({});
  FrameFeed feed({.capacity = 4});
  std::mutex mutex;
  std::condition_variable taken;
  int waiting = 0, seen = 0;
  pipeline.open_stream({.id = "a",
                        .source = feed.source(),
                        .sinks = {make_callback_sink([&](const FrameRecord&) {
                          std::unique_lock lock(mutex);
                          bounded_wait(taken, lock, "room", [&] { return waiting < 2; });
                          ++waiting;
                        })},
                        .frames_in_flight = 8});
  const auto drain = [&] {
    const std::lock_guard lock(mutex);
    seen += std::exchange(waiting, 0);
    taken.notify_all();
  };
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(feed.push(picture()));
    drain();
  }
  feed.end();
  while (seen < 200) drain();
  EXPECT_EQ(pipeline.wait("a").frames, 200);
}

TEST(FrameFeed, GivesTheFramesThatAHostPushes) {
  const cv::Mat image = picture();
  std::vector<std::string> found;
  {
    // [push-and-pull]
    vcap::Pipeline pipeline({make_detector("people", "person")});
    vcap::FrameFeed feed;
    pipeline.open_stream({.id = "gate", .source = feed.source(), .pull = true});

    feed.push(image);  // shares the pixels: nobody may write into them from now on
    feed.end();
    while (const std::optional<vcap::FrameRecord> record = pipeline.next("gate"))
      for (const vcap::DetectionNode& node : record->objects) found.push_back(node.name);
    const vcap::StreamReport report = pipeline.wait("gate");
    // [/push-and-pull]
    EXPECT_EQ(report.frames, 1);
  }
  EXPECT_THAT(found, ElementsAre("person"));
}

TEST(FrameFeed, SharesThePixelsOfTheHost) {
  Pipeline pipeline({});
  FrameFeed feed;
  pipeline.open_stream({.id = "a", .source = feed.source(), .pull = true});
  const cv::Mat first = picture(1), second = picture(2);
  EXPECT_TRUE(feed.push(first, std::chrono::milliseconds(0)));
  EXPECT_TRUE(feed.push(second, std::chrono::milliseconds(40), Discontinuity::seek));
  feed.end();
  const auto a = pipeline.next("a"), b = pipeline.next("a");
  EXPECT_EQ(a->frame.image.data, first.data);
  EXPECT_EQ(a->frame.discontinuity, Discontinuity::start);
  EXPECT_EQ(b->frame.image.data, second.data);
  EXPECT_EQ(b->frame.index, 1);
  EXPECT_EQ(b->frame.pts, std::chrono::milliseconds(40));
  EXPECT_EQ(b->frame.discontinuity, Discontinuity::seek);
  EXPECT_EQ(pipeline.next("a"), std::nullopt);
  EXPECT_FALSE(feed.push(picture()));
}

TEST(FrameFeed, TimesFramesByTheClockIfTheHostDoesNot) {
  FrameFeed feed;
  const auto source = feed.source();
  for (int i = 0; i < 3; ++i) feed.push(picture());
  const auto first = source->read(), second = source->read(), third = source->read();
  EXPECT_EQ(first->pts.count(), 0);
  EXPECT_GT(second->pts, first->pts);
  EXPECT_GT(third->pts, second->pts);
}

TEST(FrameFeed, SaysWhenThereIsNoRoomAndMarksTheGap) {
  FrameFeed feed({.capacity = 2});
  const auto source = feed.source();
  EXPECT_TRUE(feed.try_push(picture()));
  EXPECT_TRUE(feed.try_push(picture()));
  EXPECT_FALSE(feed.try_push(picture()));
  source->read();
  EXPECT_TRUE(feed.try_push(picture()));
  EXPECT_EQ(source->read()->index, 1);
  const auto after = source->read();
  EXPECT_EQ(after->index, 3);
  EXPECT_EQ(after->discontinuity, Discontinuity::gap);
}

TEST(FrameFeed, EndsAWaitingPushWhenTheStreamEnds) {
  FrameFeed feed({.capacity = 1});
  auto source = feed.source();
  feed.push(picture());
  std::thread pusher([&] { EXPECT_FALSE(feed.push(picture())); });
  source->interrupt();
  pusher.join();
  EXPECT_EQ(source->read(), std::nullopt);
}

TEST(FrameFeed, RefusesInvalidFramesAndSettings) {
  FrameFeed feed({.name = "gate"});
  const auto refused = [](const char* why) {
    return ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(why));
  };
  EXPECT_THAT([&] { feed.push({}); }, refused("frame feed \"gate\" was given an image without"));
  EXPECT_THAT([&] { feed.push(cv::Mat(2, 2, CV_8UC1)); }, refused("CV_8UC3"));
  EXPECT_TRUE(feed.push(picture(), std::chrono::milliseconds(5)));
  EXPECT_THAT([&] { feed.push(picture(), std::chrono::milliseconds(5)); },
              refused("must be >= 0 and increase"));
  EXPECT_THAT([] { FrameFeed({.capacity = 0}); }, refused("invalid capacity 0"));
  EXPECT_THAT([] { FrameFeed({.frames_per_second = -1}); }, refused("invalid frame rate -1.0"));
  const auto source = feed.source();
  EXPECT_THAT([&] { feed.source(); }, refused("has a stream already"));
}

}  // namespace
}  // namespace vcap::test
