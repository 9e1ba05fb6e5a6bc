// SPDX-License-Identifier: Apache-2.0
// Runs of capsules of this process, recorded and run again.
#include "vcap/pipeline/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>
#include <random>

#include "records/record_line.hpp"
#include "support/live_helpers.hpp"
#include "support/pipeline_helpers.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/model/uuid.hpp"

namespace vcap::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using Capsules = std::vector<std::shared_ptr<Capsule>>;

/// Gives nodes an id that depends on the stream's seed, and the number of frames since the state
/// was made.
CapsuleInfo tracker_info() {
  CapsuleInfo info = all_info("tracker", "person");
  info.output_type.tracked = true;
  info.output_type.extra_data = {"age"};
  info.stream_state = make_stream_state<CountingState>();
  info.keeps_state_at = {Discontinuity::gap};
  return info;
}

std::shared_ptr<Capsule> make_tracker(std::atomic<int>* calls = nullptr) {
  return make_capsule(tracker_info(), [calls](const Frame&, DetectionNodes nodes,
                                              const OptionValues&, BaseStreamState& state) {
    if (calls) ++*calls;
    auto& counted = dynamic_cast<CountingState&>(state);
    std::mt19937_64 engine(counted.info.seed);
    ++counted.frames;
    for (DetectionNode& node : nodes) {
      node.track_id = Uuid::random(engine);
      node.extra_data["age"] = counted.frames;
    }
    return nodes;
  });
}

CapsuleInfo finder_info() {
  CapsuleInfo info = detector_info("finder", "person");
  info.options = {{"left", FloatOption{.default_value = 0.5}}};
  return info;
}

/// Finds a person at option `left` plus the brightness of the picture.
DetectionNodes find(const Frame& frame, const OptionValues& options) {
  return DetectionNodes::all(
      {node_at("person", options.get<double>("left") + frame.image.at<cv::Vec3b>(0, 0)[0], 1)});
}

std::shared_ptr<Capsule> make_finder(std::function<void(const Frame&)> before = {}) {
  return make_capsule(finder_info(), [before](const Frame& frame, DetectionNodes,
                                              const OptionValues& options, BaseStreamState&) {
    if (before) before(frame);
    return find(frame, options);
  });
}

std::vector<std::string> lines_of(const std::vector<FrameRecord>& records) {
  std::vector<std::string> lines;
  for (const FrameRecord& record : records) lines.push_back(record_line(record));
  return lines;
}

class ReplayTest : public testing::Test {
 protected:
  std::string recording() const { return (folder_ / "night").string(); }

  /// Runs the stream and records it; returns its records.
  std::vector<FrameRecord> record(const Capsules& capsules, StreamConfig config) {
    Pipeline pipeline(capsules);
    return record(pipeline, capsules, std::move(config));
  }
  std::vector<FrameRecord> record(Pipeline& pipeline, const Capsules& capsules,
                                  StreamConfig config) {
    RecordingManifest manifest = recorded_settings({});
    for (const auto& capsule : capsules)
      manifest.capsules.push_back(recorded_capsule(*capsule, ""));
    Recorder recorder(recording(), manifest);
    config.id = "door";
    const auto sink = recorder.add_stream(recorded_stream(config, ""));
    config.sinks.push_back(sink);
    std::vector<FrameRecord> records = run(pipeline, std::move(config));
    sink->close();
    return records;
  }

  std::vector<FrameRecord> replay(const Capsules& capsules, ReplaySettings settings = {}) {
    const Replay replay(recording(), std::move(settings));
    Pipeline pipeline(capsules, replay.pipeline_settings());
    return run(pipeline, replay.stream("door", capsules));
  }

  Capsules standing_in_for_finder(std::shared_ptr<Capsule> next) {
    return {Replay(recording(), {.from = "finder"}).stand_in("finder"), std::move(next)};
  }

  const TemporaryFolder folder_;
};

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
  CapsuleInfo narrow = make_stepper()->info();
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

// Objects of a file, in place of recorded ones, and without a recording.
class ReplayOfObjects : public ReplayTest {
 protected:
  /// A person at x = 10 × frame in each of the frames, and a dog in the last one.
  ObjectsFile objects(std::int64_t frames) const {
    std::string rows = "frame_index,name,x,y,w,h\n";
    for (std::int64_t i = 0; i < frames; ++i)
      rows += std::to_string(i) + ",person," + std::to_string(10 * i) + ",2,3,4\n";
    return {
        .path = folder_.write("found.csv", rows + std::to_string(frames - 1) + ",dog,1,2,3,4\n"),
        .names = {{"person", "person"}}};
  }
  /// A folder of so many pictures, as large as those of MemorySource.
  std::string pictures(int count) const {
    for (int i = 0; i < count; ++i) {
      std::filesystem::create_directories(folder_ / "shots");
      cv::imwrite((folder_ / ("shots/" + std::to_string(i) + ".png")).string(),
                  cv::Mat(12, 16, CV_8UC3, cv::Scalar::all(i)));
    }
    return folder_ / "shots";
  }
  static std::vector<FrameRecord> run_all(const Replay& replay, const Capsules& capsules) {
    Pipeline pipeline(capsules, replay.pipeline_settings());
    return run(pipeline, replay.stream(replay.manifest().streams.at(0).id, capsules));
  }
  static void expect_refused(const std::function<void()>& call, const std::string& why) {
    EXPECT_THAT(call, ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(why)));
  }
};

TEST_F(ReplayOfObjects, StandInForRecordedResults) {
  const auto fails = make_finder([](const Frame& frame) {
    if (frame.index == 3) throw std::runtime_error("too dark");
  });
  const auto recorded = record({fails, make_tracker()}, {.source = make_source(6)});
  ASSERT_EQ(recorded.at(3).errors.size(), 1u);
  const Replay replay(recording(), {.from = "finder", .objects = {{"", objects(6)}}});
  const auto again = run_all(replay, {replay.stand_in("finder"), make_tracker()});
  ASSERT_EQ(again.size(), 6u);
  for (std::size_t i = 0; i < again.size(); ++i) {
    ASSERT_EQ(names(again[i].objects), std::vector<std::string>{"person"}) << i;
    EXPECT_EQ(again[i].objects[0].coords.at(0).x, 10.0 * static_cast<double>(i));
    EXPECT_EQ(again[i].objects[0].extra_data.at("age"), i + 1) << "the tracker saw each frame";
    EXPECT_TRUE(again[i].errors.empty()) << "that was the finder's";
    EXPECT_EQ(again[i].frame.pts, recorded[i].frame.pts);
  }
}

TEST_F(ReplayOfObjects, KeepDropsAndDiscontinuitiesOfTheRecording) {
  record({make_finder(), make_tracker()}, {.source = make_source(10), .keep_every = 3});
  const Replay replay(recording(), {.from = "finder", .objects = {{"door", objects(10)}}});
  const auto again = run_all(replay, {replay.stand_in("finder"), make_tracker()});
  ASSERT_EQ(again.size(), 4u);
  EXPECT_EQ(again[3].frame.index, 9);
  EXPECT_EQ(again[3].objects.at(0).coords.at(0).x, 90);
  std::int64_t drops = 0;
  for (const FrameRecord& one : again)
    for (const FrameRecord::Drop& drop : one.drops) drops += drop.count;
  EXPECT_EQ(drops, 6);
}

TEST_F(ReplayOfObjects, RunCapsulesWithoutARecording) {
  ReplaySettings settings{.sources = {{"found", pictures(5)}}};
  const Replay replay = Replay::of_objects(objects(5), settings);
  EXPECT_EQ(replay.stand_ins(), std::set<std::string>{Replay::kObjectsCapsule});
  std::atomic<int> calls = 0;
  const auto records =
      run_all(replay, {replay.stand_in(Replay::kObjectsCapsule), make_tracker(&calls)});
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(records[0].frame.discontinuity, Discontinuity::start);
  EXPECT_EQ(records[4].objects.at(0).coords.at(0).x, 40);
  EXPECT_EQ(records[4].objects.at(0).extra_data.at("age"), 5);
  // The ids are those of any run with that stream's id.
  EXPECT_EQ(lines_of(run_all(Replay::of_objects(objects(5), settings),
                             {replay.stand_in(Replay::kObjectsCapsule), make_tracker()})),
            lines_of(records));
}

TEST_F(ReplayOfObjects, AreUsedAsInTheDocumentation) {
  const std::string labels = objects(5).path;
  const std::string clip = pictures(5);
  std::atomic<int> calls = 0;
  const auto tracker = make_tracker(&calls);
  // [objects]
  const Replay replay = Replay::of_objects({.path = labels}, {.sources = {{"", clip}}});
  const std::vector<std::shared_ptr<Capsule>> capsules{replay.stand_in(Replay::kObjectsCapsule),
                                                       tracker};
  Pipeline pipeline(capsules);
  pipeline.open_stream(replay.stream(replay.manifest().streams.at(0).id, capsules));
  // [/objects]
  EXPECT_EQ(pipeline.wait("found").frames, 5);
  EXPECT_EQ(calls, 5);
}

TEST_F(ReplayOfObjects, AreRefusedIfTheyDoNotFit) {
  record({make_finder(), make_tracker()}, {.source = make_source(3)});
  ObjectsFile all = objects(3);
  all.names.clear();
  expect_refused(
      [&] {
        Replay(recording(), {.from = "finder", .objects = {{"", all}}});
      },
      "the name \"dog\", which the capsules up to finder do not give; they give "
      "\"person\"");
  expect_refused([&] { Replay(recording(), {.objects = {{"", all}}}); }, "--from");
  expect_refused(
      [&] {
        Replay(recording(), {.from = "finder", .objects = {{"gate", all}}});
      },
      "no stream \"gate\"");
  const ObjectsFile two{.path = folder_.write("two.csv",
                                              "stream_id,frame_index,name,x,y,w,h\n"
                                              "a,0,person,1,2,3,4\nb,0,person,1,2,3,4\n")};
  expect_refused(
      [&] {
        Replay(recording(), {.from = "finder", .objects = {{"door", two}}});
      },
      "two.csv: it has no stream \"door\"; it has \"a\", \"b\"");

  expect_refused([&] { Replay::of_objects(all, {.from = "finder"}); }, "are for recordings");
  expect_refused(
      [&] {
        Replay::of_objects(all, {.sources = {{"gate", "x"}}});
      },
      "no stream \"gate\"; it has \"found\"");
  expect_refused(
      [&] {
        Replay::of_objects(two, {.sources = {{"", "x"}}});
      },
      "several streams, \"a\", \"b\"; say for which one (STREAM=PATH)");
  const Replay no_source = Replay::of_objects(all);
  expect_refused([&] { no_source.stream("found", {}); },
                 "give the source of its frames (ReplaySettings::sources, --source found=PATH)");
}

TEST_F(ReplayOfObjects, AreHeldToTheRulesOfOutputs) {
  const auto file = [this](const std::string& name, const std::string& rows) {
    return ObjectsFile{.path = folder_.write(name, "frame_index,name,coords,extra_data\n" + rows)};
  };
  expect_refused([&] { Replay::of_objects(file("a.csv", "3,dog,\"[[1,2],[3,4]]\",\n")); },
                 "a.csv, frame 3: capsule objects gave node /0 \"dog\": coords has 2 points");
  expect_refused(
      [&] {
        Replay::of_objects(
            file("b.csv", "3,dog,\"[[1,2],[3,4],[5,6]]\",\"{\"\"confidence\"\":1.4}\"\n"));
      },
      "confidence in extra_data is 1.4, which is not within 0 to 1");
  expect_refused([&] { Replay::of_objects(file("c.csv", "3,\"\",\"[[1,2],[3,4],[5,6]]\",\n")); },
                 "c.csv");
}

// Without an encoder nobody knows the threshold of the encodings.
TEST_F(ReplayOfObjects, MayHaveEncodings) {
  const ObjectsFile file{.path = folder_.write("found.csv",
                                               "frame_index,name,x,y,w,h,encoding\n"
                                               "1,person,1,2,3,4,\"[0.5,1]\"\n")};
  const Replay replay = Replay::of_objects(file, {.sources = {{"", pictures(2)}}});
  const auto records = run_all(replay, {replay.stand_in(Replay::kObjectsCapsule)});
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].objects.at(0).encoding, (std::vector<float>{0.5F, 1}));
}

TEST_F(ReplayOfObjects, AreRefusedIfACapsuleNeedsMore) {
  CapsuleInfo info = all_info("counter", "person");
  info.input_type.tracked = true;
  const auto counter = make_capsule(info, give_back);
  record({make_finder(), make_tracker(), counter}, {.source = make_source(3)});
  const Replay lacking(recording(), {.from = "tracker", .objects = {{"", objects(3)}}});
  const Capsules capsules{lacking.stand_in("finder"), lacking.stand_in("tracker"), counter};
  expect_refused([&] { lacking.stream("door", capsules); },
                 "found.csv: capsule counter needs a track_id, which no object has");
  const Replay tracked(recording(), {.from = "finder", .objects = {{"", objects(3)}}});
  EXPECT_EQ(run_all(tracked, {tracked.stand_in("finder"), make_tracker(), counter}).size(), 3u)
      << "the tracker gives it";
}

TEST_F(ReplayOfObjects, MayLackWhatOnlyACapsuleOfOtherStreamsNeeds) {
  CapsuleInfo info = all_info("counter", "person");
  info.input_type.tracked = true;
  const Capsules recorded{make_finder(), make_tracker(), make_capsule(info, give_back)};
  record(recorded,
         {.source = make_source(3), .capsules = std::vector<std::string>{"finder", "tracker"}});
  const Replay replay(recording(), {.from = "tracker", .objects = {{"", objects(3)}}});
  EXPECT_EQ(
      run_all(replay, {replay.stand_in("finder"), replay.stand_in("tracker"), recorded[2]}).size(),
      3u);
}

TEST_F(ReplayOfObjects, AreRefusedTwiceForAStream) {
  record({make_finder()}, {.source = make_source(3)});
  expect_refused(
      [&] {
        Replay(recording(),
               {.from = "finder", .objects = {{"", objects(3)}, {"door", objects(3)}}});
      },
      "stream \"door\" has a file of objects already");
  expect_refused(
      [&] {
        Replay::of_objects(objects(3), {.sources = {{"", "a"}, {"found", "b"}}});
      },
      "stream \"found\" has a source already");
}

// A frame of another size: the objects belong to another video.
TEST_F(ReplayOfObjects, EndAStreamWhoseFramesAreOthers) {
  const ObjectsFile large{.path = folder_.write("large.csv",
                                                "frame_index,name,x,y,w,h,width,height\n"
                                                "1,person,1,2,3,4,640,480\n")};
  const Replay replay = Replay::of_objects(large, {.sources = {{"", pictures(3)}}});
  const Capsules capsules{replay.stand_in(Replay::kObjectsCapsule)};
  Pipeline pipeline(capsules);
  pipeline.open_stream(replay.stream("large", capsules));
  const StreamReport report = pipeline.wait("large");
  EXPECT_EQ(report.frames, 1);
  EXPECT_THAT(report.failure.value_or(""), HasSubstr("640 × 480"));
}

}  // namespace
}  // namespace vcap::test
