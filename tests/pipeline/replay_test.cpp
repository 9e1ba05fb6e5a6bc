// SPDX-License-Identifier: Apache-2.0
// Runs of capsules of this process, recorded and run again.
#include "vcap/pipeline/replay.hpp"

#include <gmock/gmock.h>

#include <atomic>

#include "pipeline/replay_fixture.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST_F(ReplayTest, GivesTheSameRecordsOfALiveStreamWithDropsAndDiscontinuities) {
  // While a frame is in a call, the source gives ten; so most of them are dropped.
  std::atomic<std::int64_t> given = 0, calls = 0, found = 0;
  const auto finder = make_finder([&](const Frame&) {
    const std::int64_t wanted = std::min<std::int64_t>(60, 10 * ++calls);
    yield_until("the source", [&] { return given >= wanted; });
    ++found;
  });
  const auto recorded =
      record({finder, make_tracker()},
             {.source = std::make_unique<MemorySource>(MemorySource::Plan{
                  .frames = 60,
                  .live = true,
                  .before =
                      [&](Frame& frame) {
                        if (frame.index % 10 == 0)
                          yield_until("a call", [&] { return found >= frame.index / 10; });
                        if (frame.index == 7) frame.discontinuity = Discontinuity::gap;
                        if (frame.index == 40) frame.discontinuity = Discontinuity::reconnect;
                        if (frame.index == 50) frame.discontinuity = Discontinuity::gap;
                      },
                  .given = &given}),
              .frames_in_flight = 2});
  ASSERT_LT(recorded.size(), 60u) << "nothing was dropped";
  ASSERT_GE(recorded.size(), 6u);

  const auto again = replay({make_finder(), make_tracker()});
  EXPECT_EQ(lines_of(again), lines_of(recorded));
  std::int64_t drops = 0;
  for (const FrameRecord& one : again)
    for (const FrameRecord::Drop& drop : one.drops) drops += drop.count;
  EXPECT_EQ(drops + static_cast<std::int64_t>(again.size()), 60);
  EXPECT_THAT(lines_of(again), Contains(HasSubstr("\"reconnect\"")));

  EXPECT_EQ(lines_of(replay(standing_in_for_finder(make_tracker()), {.from = "finder"})),
            lines_of(recorded));
}

TEST_F(ReplayTest, CountsRecordedDropsInTheReport) {
  record({make_finder()}, {.source = make_source(10), .keep_every = 3});
  const Replay replay(recording());
  const Capsules capsules{make_finder()};
  Pipeline pipeline(capsules);
  pipeline.open_stream(replay.stream("door", capsules));
  const StreamReport report = pipeline.wait("door");
  EXPECT_EQ(report.frames, 4);
  EXPECT_EQ(report.drops.at("skipped"), 6);
  EXPECT_EQ(report.failure, std::nullopt);
}

TEST_F(ReplayTest, CallsOnlyTheCapsulesAfterTheGivenOne) {
  const auto recorded = record({make_finder(), make_tracker()}, {.source = make_source(10)});
  std::atomic<int> calls = 0;
  const auto again = replay(standing_in_for_finder(make_tracker(&calls)), {.from = "finder"});
  EXPECT_EQ(lines_of(again), lines_of(recorded));
  EXPECT_EQ(calls, 10);

  // Another capsule after it gets what was recorded.
  const auto moved = make_capsule(tracker_info(), [](const Frame&, DetectionNodes nodes,
                                                     const OptionValues&, BaseStreamState&) {
    for (DetectionNode& node : nodes) {
      node.track_id = Uuid{};
      node.extra_data["age"] = node.coords.at(0).x;
    }
    return nodes;
  });
  const auto other = replay(standing_in_for_finder(moved), {.from = "finder"});
  ASSERT_EQ(other.size(), 10u);
  EXPECT_EQ(other[4].objects.at(0).extra_data.at("age"), 4.5);
}

TEST_F(ReplayTest, KeepsFailuresOfCapsulesThatStandIn) {
  const auto fails = make_finder([](const Frame& frame) {
    if (frame.index == 3) throw std::runtime_error("too dark");
  });
  const auto recorded = record({fails, make_tracker()}, {.source = make_source(6)});
  ASSERT_EQ(recorded.at(3).errors.size(), 1u);
  EXPECT_EQ(lines_of(replay(standing_in_for_finder(make_tracker()), {.from = "finder"})),
            lines_of(recorded));
}

TEST_F(ReplayTest, SetsOptionsFromTheRecordedFrameOn) {
  const Capsules capsules{make_finder(), make_tracker()};
  Pipeline pipeline(capsules);
  const auto recorded = record(pipeline, capsules,
                               {.source = std::make_unique<MemorySource>(MemorySource::Plan{
                                    .frames = 20, .before = [&](const Frame& frame) {
                                      if (frame.index == 8)
                                        pipeline.set_option("door", "finder", "left", 100.0);
                                      if (frame.index == 12)
                                        pipeline.set_option("door", "finder", "left", 200.0);
                                    }})});
  const auto changes = [](const std::vector<FrameRecord>& records) {
    std::size_t count = 0;
    for (const FrameRecord& one : records) count += one.option_changes.size();
    return count;
  };
  ASSERT_EQ(changes(recorded), 2u);
  EXPECT_EQ(lines_of(replay(capsules)), lines_of(recorded));
  EXPECT_EQ(lines_of(replay(standing_in_for_finder(make_tracker()), {.from = "finder"})),
            lines_of(recorded));

  const auto own = replay(capsules, {.options = {{"", "finder", "left", 7.0}}});
  EXPECT_EQ(changes(own), 0u);
  EXPECT_EQ(own.at(15).objects.at(0).coords.at(0).x, 22);
}

/// Continues to count from what is saved, in steps of the config.
struct SteppingState final : BaseStreamState {
  explicit SteppingState(const StreamInfo& info)
      : step(info.config.at("step").get<int>()),
        sum(info.saved.is_null() ? 0 : info.saved.get<int>()) {}
  nlohmann::json save() const override { return sum; }
  const int step;
  int sum;
};

std::shared_ptr<Capsule> make_stepper() {
  CapsuleInfo info = all_info("stepper", "person");
  info.output_type.extra_data = {"sum"};
  info.stream_config_schema = {
      {"properties", {{"step", {{"type", "integer"}, {"minimum", 1}, {"default", 1}}}}}};
  info.stream_state = make_stream_state<SteppingState>();
  return make_capsule(
      info, [](const Frame&, DetectionNodes nodes, const OptionValues&, BaseStreamState& state) {
        auto& own = state_of<SteppingState>(state);
        own.sum += own.step;
        for (DetectionNode& node : nodes) node.extra_data["sum"] = own.sum;
        return nodes;
      });
}

TEST_F(ReplayTest, ChangesConfigsAtTheRecordedFrames) {
  const Capsules capsules{make_finder(), make_stepper()};
  Pipeline pipeline(capsules);
  const auto recorded =
      record(pipeline, capsules,
             {.source = std::make_unique<MemorySource>(MemorySource::Plan{
                  .frames = 20, .before = [&](const Frame& frame) {
                    if (frame.index == 8) {
                      EXPECT_EQ(pipeline.set_config("door", "stepper", {{"step", 10}}), 8);
                    }
                    if (frame.index == 12) {
                      EXPECT_EQ(pipeline.set_config("door", "stepper", {{"step", 100}}, false), 12);
                    }
                  }})});
  const auto sum_at = [](const std::vector<FrameRecord>& records, std::size_t frame) {
    return records.at(frame).objects.at(0).extra_data.at("sum").get<int>();
  };
  EXPECT_EQ(recorded.at(8).config_changes.size(), 1u);
  EXPECT_EQ(sum_at(recorded, 11), 48);
  EXPECT_EQ(sum_at(recorded, 12), 100);
  EXPECT_EQ(lines_of(replay(capsules)), lines_of(recorded));
  EXPECT_EQ(lines_of(replay(standing_in_for_finder(make_stepper()), {.from = "finder"})),
            lines_of(recorded));

  const Replay from_stepper(recording(), {.from = "stepper"});
  const Capsules stand_ins{from_stepper.stand_in("finder"), from_stepper.stand_in("stepper")};
  Pipeline unneeded(stand_ins);
  EXPECT_EQ(lines_of(run(unneeded, from_stepper.stream("door", stand_ins))), lines_of(recorded));

  const Replay own(recording());
  Pipeline other(capsules);
  const auto records = run(other, own.stream("door", capsules, {{"stepper", {{"step", 2}}}}));
  EXPECT_EQ(sum_at(records, 19), 40);
  EXPECT_EQ(records.at(8).config_changes.size(), 0u);
}

TEST_F(ReplayTest, EndsAtAConfigThatACapsuleDoesNotAccept) {
  const KeptLog log;
  const Capsules capsules{make_finder(), make_stepper()};
  Pipeline pipeline(capsules);
  record(pipeline, capsules,
         {.source = std::make_unique<MemorySource>(
              MemorySource::Plan{.frames = 6, .before = [&](const Frame& frame) {
                                   if (frame.index == 3)
                                     pipeline.set_config("door", "stepper", {{"step", 10}});
                                 }})});
  const auto stepper = make_stepper();  // whose functions the description has
  CapsuleInfo narrow = stepper->info();
  narrow.stream_config_schema["properties"]["step"]["maximum"] = 5;
  const Capsules other{make_finder(), make_capsule(narrow, give_back)};
  const Replay replay(recording());
  Pipeline again(other);
  again.open_stream(replay.stream("door", other));
  EXPECT_THAT(again.wait("door").failure.value_or(""), HasSubstr("/step is 10"));
}

TEST_F(ReplayTest, RefusesOtherChangesOfConfigs) {
  const Capsules capsules{make_finder(), make_stepper()};
  record(capsules, {.source = make_source(2)});
  const Replay replay(recording());
  Pipeline pipeline(capsules);
  StreamConfig config = replay.stream("door", capsules);
  config.pull = true;
  pipeline.open_stream(std::move(config));
  EXPECT_FALSE(pipeline.stream_settings("door").configs_can_change);
  try {
    pipeline.set_config("door", "stepper", {{"step", 3}});
    ADD_FAILURE() << "the config was changed";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("repeats a recording"));
  }
}

TEST_F(ReplayTest, RefusesToTakeAPictureOfACapsuleThatStandsIn) {
  CapsuleInfo giver = finder_info();
  giver.gives_pictures = {{.name = "mask", .type = CV_8UC1}};
  const auto finder = make_capsule(
      giver, [](const Frame& frame, DetectionNodes, const OptionValues& options, BaseStreamState&) {
        DetectionNodes nodes = find(frame, options);
        nodes.give_picture("mask", cv::Mat::zeros(frame.image.size(), CV_8UC1));
        return nodes;
      });
  CapsuleInfo taker = all_info("taker", "person");
  taker.takes_pictures = {{.name = "mask", .type = CV_8UC1}};
  const auto recorded =
      record({finder, make_capsule(taker, give_back), make_tracker()}, {.source = make_source(4)});
  ASSERT_EQ(recorded.at(0).pictures.size(), 1u);
  EXPECT_EQ(lines_of(replay({finder, make_capsule(taker, give_back), make_tracker()})),
            lines_of(recorded));

  const Replay from_finder(recording(), {.from = "finder"});
  const Capsules capsules{from_finder.stand_in("finder"), make_capsule(taker, give_back),
                          make_tracker()};
  Pipeline pipeline(capsules);
  try {
    pipeline.open_stream(from_finder.stream("door", capsules));
    ADD_FAILURE() << "the stream was opened";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("capsule taker takes picture \"mask\" of capsule finder"));
  }

  // Behind the taker, only the pictures' names, types and sizes are needed.
  const Replay from_taker(recording(), {.from = "taker"});
  const Capsules later{from_taker.stand_in("finder"), from_taker.stand_in("taker"), make_tracker()};
  Pipeline second(later);
  EXPECT_EQ(lines_of(run(second, from_taker.stream("door", later))), lines_of(recorded));
}

TEST_F(ReplayTest, RefusesACapsuleThatWasReplacedUnlessItStandsIn) {
  const KeptLog log;
  const Capsules capsules{make_finder(), make_tracker()};
  Pipeline pipeline(capsules);
  CapsuleInfo newer = finder_info();
  newer.version = 2;
  const auto second =
      make_capsule(newer, [](const Frame& frame, DetectionNodes, const OptionValues& options,
                             BaseStreamState&) { return find(frame, options); });
  const auto recorded = record(pipeline, capsules,
                               {.source = std::make_unique<MemorySource>(MemorySource::Plan{
                                    .frames = 12, .before = [&](const Frame& frame) {
                                      if (frame.index == 5) pipeline.replace_capsule(second);
                                    }})});
  EXPECT_EQ(lines_of(replay(standing_in_for_finder(make_tracker()), {.from = "finder"})),
            lines_of(recorded));

  const Replay all(recording());
  Pipeline again(capsules);
  again.open_stream(all.stream("door", capsules));
  EXPECT_THAT(again.wait("door").failure.value_or(""),
              HasSubstr("version 1 of capsule finder was replaced by version 2 at frame 5"));
  EXPECT_EQ(replay(capsules, {.accept_changed = true}).size(), 12u);
}

TEST_F(ReplayTest, RefusesNamesThatTheRecordingDoesNotHave) {
  record({make_finder()}, {.source = make_source(2)});
  try {
    Replay(recording(), {.from = "findr"});
    ADD_FAILURE() << "an unknown capsule was accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("no capsule \"findr\""));
    EXPECT_THAT(error.what(), HasSubstr("finder"));
  }
  EXPECT_THROW(Replay(recording()).stream("window", {}), InvalidArgument);
  EXPECT_THROW(Replay((folder_ / "day").string()), SourceError);
}

TEST_F(ReplayTest, RefusesACapsuleThatIsCalledBeforeOneThatStandsIn) {
  record({make_finder()}, {.source = make_source(2)});
  const Replay from_finder(recording(), {.from = "finder"});
  const Capsules capsules{make_detector("other", "car"), from_finder.stand_in("finder")};
  Pipeline pipeline(capsules);
  EXPECT_THROW(pipeline.open_stream(from_finder.stream("door", capsules)), InvalidArgument);
}

}  // namespace
}  // namespace vcap::test
