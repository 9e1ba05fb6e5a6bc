// SPDX-License-Identifier: Apache-2.0
// Capsules that run on objects of a file: Replay::of_objects() and ReplaySettings::objects.
#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <opencv2/imgcodecs.hpp>
#include <set>

#include "pipeline/replay_fixture.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/pipeline/replay.hpp"

namespace vcap::test {
namespace {

using testing::HasSubstr;

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
