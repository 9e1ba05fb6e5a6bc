// SPDX-License-Identifier: Apache-2.0
#include "vcap/records/recording.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>
#include <set>

#include "records/record_line.hpp"
#include "records/recording_line.hpp"
#include "records/recording_losses.hpp"
#include "records/recording_reader.hpp"
#include "support/bounded_wait.hpp"
#include "support/file_size_limit.hpp"
#include "support/live_helpers.hpp"
#include "support/temporary_folder.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

DetectionNode person_at(double x) {
  return {.name = "person", .coords = rect_to_coords(cv::Rect2d(x, 2, 8, 8.1))};
}

/// A frame that capsules `find` and `follow` have seen; `follow` has failed on it.
FrameRecord record_of(std::int64_t index) {
  FrameRecord record{.stream_id = "door",
                     .frame = {.image = cv::Mat(12, 16, CV_8UC3, cv::Scalar(1, 2, double(index))),
                               .index = index,
                               .pts = std::chrono::milliseconds(40 * index)},
                     .resolution = {16, 12},
                     .objects = {person_at(1), person_at(0.1)}};
  record.errors = {{"find", "exception", "dark"}, {"follow", "exception", "lost it"}};
  record.steps = {{.capsule = "find", .objects = {person_at(7)}, .errors = 1},
                  {.capsule = "follow", .objects = record.objects, .errors = 2}};
  return record;
}

std::vector<std::int64_t> indexes_in(const fs::path& folder, const RecordedStream& stream) {
  RecordingReader reader(folder.string(), stream, {});
  std::vector<std::int64_t> indexes;
  while (const auto line = reader.read()) indexes.push_back(line->frame.index);
  return indexes;
}

std::vector<double> lefts(const RecordingLine& line) {
  std::vector<double> lefts;
  for (const DetectionNode& node : line.recorded.objects) lefts.push_back(node.coords.at(0).x);
  return lefts;
}

TEST(RecordingLine, GivesTheObjectsAndErrorsAfterTheLastCapsuleThatStandsIn) {
  const std::string line = recording_line(record_of(3), std::nullopt, {});

  const RecordingLine none = parse_recording_line(line, {});
  EXPECT_EQ(none.frame.index, 3);
  EXPECT_TRUE(none.recorded.objects.empty());
  EXPECT_TRUE(none.recorded.errors.empty());

  const RecordingLine first = parse_recording_line(line, {"find"});
  EXPECT_THAT(lefts(first), ElementsAre(7));
  ASSERT_EQ(first.recorded.errors.size(), 1u);
  EXPECT_EQ(first.recorded.errors[0].message, "dark");

  const RecordingLine both = parse_recording_line(line, {"find", "follow"});
  EXPECT_THAT(lefts(both), ElementsAre(1, 0.1));
  EXPECT_EQ(both.recorded.errors.size(), 2u);
}

TEST(RecordingLine, KeepsPicturesLossesDropsChangesAndDiscontinuities) {
  FrameRecord record = record_of(9);
  record.drops = {{.frame_index = 5, .reason = "overload", .count = 2}};
  record.option_changes = {{"find", "threshold", 0.25}};
  record.replacements = {{"find", 1, 2}};
  record.config_changes = {{"find", {{"zone", 3}}, false}};
  record.discontinuities = {Discontinuity::reconnect, Discontinuity::gap};
  const RecordingLine line = parse_recording_line(
      recording_line(record, PicturePlace{.offset = 10, .size = 20, .crc32 = 4'000'000'000},
                     {{.frame_index = 7}}),
      {});

  EXPECT_EQ(line.picture, (PicturePlace{10, 20, 4'000'000'000}));
  EXPECT_THAT(line.lost, ElementsAre(LostFrames{7, 1}));
  EXPECT_EQ(line.recorded.drops.at(0).count, 2);
  EXPECT_EQ(line.recorded.option_changes.at(0).value, OptionValue(0.25));
  EXPECT_EQ(line.recorded.replacements.at(0).to_version, 2);
  EXPECT_EQ(*line.recorded.config_changes.at(0).config, nlohmann::json({{"zone", 3}}));
  EXPECT_FALSE(line.recorded.config_changes.at(0).keep_state);
  EXPECT_THAT(line.recorded.discontinuities,
              ElementsAre(Discontinuity::reconnect, Discontinuity::gap));
}

TEST(RecordingLosses, AreTheFramesThatDoNotArriveOrCannotBeWritten) {
  RecordingLosses losses;
  FrameRecord second = record_of(1);
  second.option_changes = {{"find", "threshold", 0.25}};
  second.config_changes = {{"find", {{"zone", 3}}, true}};
  for (const FrameRecord& record : {record_of(0), second, record_of(2), record_of(4)})
    losses.expect(record);
  EXPECT_TRUE(losses.arrive(0).frames.empty());

  LostBefore before = losses.arrive(2);
  EXPECT_THAT(before.frames, ElementsAre(LostFrames{1, 1}));
  EXPECT_EQ(before.option_changes.size(), 1u);
  losses.fail(record_of(2), std::move(before));

  const LostBefore later = losses.arrive(4);
  EXPECT_THAT(later.frames, ElementsAre(LostFrames{1, 2}));
  EXPECT_EQ(later.option_changes.size(), 1u);
  EXPECT_EQ(later.config_changes.size(), 1u);
}

TEST(Recorder, WritesFramesWithTheirPictures) {
  const TemporaryFolder folder;
  Recorder recorder((folder / "night").string(), {});
  const auto sink = recorder.add_stream({.id = "door", .source = "camera", .live = true});
  for (int i = 0; i < 3; ++i) sink->write(record_of(i));
  sink->close();

  const RecordingManifest manifest = read_recording_manifest((folder / "night").string());
  ASSERT_EQ(manifest.streams.size(), 1u);
  EXPECT_TRUE(manifest.streams[0].complete);
  EXPECT_EQ(manifest.streams[0].frames, 3u);
  EXPECT_EQ(manifest.streams[0].lost, 0u);
  RecordingReader reader((folder / "night").string(), manifest.streams[0], {});
  for (int i = 0; i < 3; ++i) {
    const auto line = reader.read();
    ASSERT_TRUE(line);
    EXPECT_EQ(cv::norm(reader.picture(*line), record_of(i).frame.image, cv::NORM_INF), 0);
  }
  EXPECT_FALSE(reader.read());
}

TEST(RecordingReader, RefusesADamagedPictureAndADamagedLine) {
  const TemporaryFolder folder;
  Recorder recorder((folder / "night").string(), {});
  const auto sink = recorder.add_stream({.id = "door", .source = "camera", .live = true});
  for (int i = 0; i < 2; ++i) sink->write(record_of(i));
  sink->close();
  const auto overwrite = [&](const char* name, std::streamoff place) {
    std::fstream file(folder / "night/door" / name, std::ios::in | std::ios::out);
    file.seekp(place, place < 0 ? std::ios::end : std::ios::beg);
    file << '~';
  };
  overwrite("pictures.ffv1", -5);
  overwrite("frames.jsonl", 0);

  const RecordedStream stream = read_recording_manifest((folder / "night").string()).streams.at(0);
  RecordingReader reader((folder / "night").string(), stream, {});
  const auto failure = [](const std::function<void()>& read) {
    try {
      read();
    } catch (const SourceError& error) {
      return std::string(error.what());
    }
    return std::string("no failure");
  };
  EXPECT_THAT(failure([&] { reader.read(); }), HasSubstr("frames.jsonl, line 1"));
  const auto line = reader.read();
  ASSERT_TRUE(line);
  EXPECT_THAT(failure([&] { reader.picture(*line); }),
              HasSubstr("frames.jsonl, line 2: its picture is damaged"));
}

TEST(Recorder, CountsFramesThatTheDiskIsTooFullFor) {
  const TemporaryFolder folder;
  test::KeptLog log;
  Recorder recorder((folder / "night").string(), {}, {.retry_after = std::chrono::nanoseconds(0)});
  const auto sink =
      recorder.add_stream({.id = "door", .source = "clip", .file = RecordedFile{"clip", 1, "0"}});
  const auto write = [&](std::int64_t index) {
    sink->write(record_of(index));
    test::yield_until("the writer", [&] { return sink->stats()->queued == 0; });
  };
  for (int i = 0; i < 3; ++i) write(i);
  {
    const test::FileSizeLimit full(1);
    for (int i = 3; i < 6; ++i) write(i);
  }
  for (int i = 6; i < 8; ++i) write(i);
  sink->close();

  EXPECT_EQ(sink->stats()->lost.at("failed"), 3u);
  const RecordingManifest manifest = read_recording_manifest((folder / "night").string());
  EXPECT_EQ(manifest.streams.at(0).frames, 5u);
  EXPECT_EQ(manifest.streams.at(0).lost, 3u);
  EXPECT_THAT(indexes_in(folder / "night", manifest.streams[0]), ElementsAre(0, 1, 2, 6, 7));
  RecordingReader reader((folder / "night").string(), manifest.streams[0], {});
  for (int i = 0; i < 3; ++i) reader.read();
  EXPECT_THAT(reader.read()->lost, ElementsAre(LostFrames{3, 3}));
}

// Encoding a picture of noise takes longer than handing over a record.
TEST(Recorder, CountsFramesThatTheDiskIsTooSlowFor) {
  constexpr std::int64_t kFrames = 100;
  const TemporaryFolder folder;
  Recorder recorder((folder / "night").string(), {}, {.queue = 1});
  const auto sink = recorder.add_stream({.id = "door", .source = "camera", .live = true});
  FrameRecord record = record_of(0);
  record.frame.image = cv::Mat(480, 640, CV_8UC3);
  record.resolution = record.frame.image.size();
  cv::randu(record.frame.image, 0, 256);
  for (; record.frame.index < kFrames; ++record.frame.index) sink->write(record);
  sink->close();

  const RecordedStream stream = read_recording_manifest((folder / "night").string()).streams.at(0);
  EXPECT_GT(stream.lost, 0u);
  EXPECT_EQ(sink->stats()->lost.at("full"), stream.lost);
  EXPECT_EQ(stream.frames + stream.lost, std::uint64_t{kFrames});
  RecordingReader reader((folder / "night").string(), stream, {});
  std::int64_t next = 0;  // each frame is there, or lost before the next one that is
  while (const auto line = reader.read()) {
    for (const LostFrames& lost : line->lost) {
      EXPECT_EQ(lost.frame_index, next);
      next += lost.count;
    }
    EXPECT_EQ(line->frame.index, next);
    ++next;
  }
  EXPECT_GT(next, 0);
}

// The file as a killed process leaves it.
TEST(Recorder, LeavesWholeFramesWithoutItsEnd) {
  const TemporaryFolder folder;
  Recorder recorder((folder / "night").string(), {});
  const auto sink = recorder.add_stream({.id = "door", .source = "camera", .live = true});
  for (int i = 0; i < 3; ++i) sink->write(record_of(i));
  test::yield_until("the writer", [&] { return sink->stats()->written == 3; });
  const fs::path frames = folder / "night/door/frames.jsonl";
  fs::resize_file(frames, fs::file_size(frames) - 20);

  const RecordingManifest manifest = read_recording_manifest((folder / "night").string());
  EXPECT_FALSE(manifest.streams.at(0).complete);
  EXPECT_THAT(indexes_in(folder / "night", manifest.streams[0]), ElementsAre(0, 1));
}

TEST(Recorder, RemovesAFolderWithoutFrames) {
  const TemporaryFolder folder;
  {
    Recorder recorder((folder / "night").string(), {});
    recorder.add_stream({.id = "door", .source = "camera"});
    EXPECT_TRUE(fs::exists(folder / "night/recording.json"));
  }
  EXPECT_FALSE(fs::exists(folder / "night"));
}

TEST(Recorder, RefusesAFolderThatHasFiles) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "night");
  std::ofstream(folder / "night/notes") << "mine";
  try {
    Recorder recorder((folder / "night").string(), {});
    ADD_FAILURE() << "the folder was taken";
  } catch (const OutputError& error) {
    EXPECT_EQ(error.code(), ErrorCode::output_open);
    EXPECT_THAT(error.what(), HasSubstr("night exists already"));
  }
  EXPECT_TRUE(fs::exists(folder / "night/notes"));
}

TEST(Recorder, GivesEachStreamAFolderInItsOwn) {
  const TemporaryFolder folder;
  Recorder recorder((folder / "night").string(), {});
  const std::vector<std::string> ids{"door", "../door", "a/b", "recording.json", "stream-1", ""};
  std::vector<std::shared_ptr<Sink>> sinks;
  for (const std::string& id : ids) sinks.push_back(recorder.add_stream({.id = id}));
  EXPECT_THROW(recorder.add_stream({.id = "door"}), InvalidArgument);
  for (const auto& sink : sinks) sink->close();

  std::set<std::string> folders;
  for (const RecordedStream& stream : read_recording_manifest((folder / "night").string()).streams)
    folders.insert(stream.folder);
  EXPECT_EQ(folders.size(), ids.size());
  EXPECT_FALSE(fs::exists(folder / "door"));
}

TEST(RecordingManifest, RefusesNamesThatLeadOutOfTheFolder) {
  RecordingManifest manifest{.streams = {{.id = "door", .folder = "door"}}};
  nlohmann::json json = manifest;
  EXPECT_EQ(json.get<RecordingManifest>().streams.at(0).folder, "door");
  for (const char* name : {"..", "../door", "/tmp", ""}) {
    json["streams"][0]["folder"] = name;
    EXPECT_THROW(json.get<RecordingManifest>(), InvalidArgument) << name;
  }
}

}  // namespace
}  // namespace vcap
