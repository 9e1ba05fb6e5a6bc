// SPDX-License-Identifier: Apache-2.0
// vcap run --record, and vcap replay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/images.hpp"
#include "support/rtsp_server.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using test::capsule;
using test::images;
using test::read_file;
using test::Result;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ReplayCommand : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string records(const std::string& name) const { return read_file(folder_ / name); }

  /// Runs finder, colorist and follower on the source and records the run. The records are in
  /// first.jsonl.
  Result record(const std::string& source, std::vector<std::string> more = {}) const {
    std::vector<std::string> words{
        "run",      path("finder.cap"), capsule("colorist"), capsule("follower"), source,
        "--record", path("night"),      "--jsonl",           path("first.jsonl")};
    fs::copy_file(capsule("finder"), path("finder.cap"));
    words.insert(words.end(), more.begin(), more.end());
    return test::vcap(words);
  }
  /// The records are in again.jsonl.
  Result replay(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"replay", path("night"), "--jsonl", path("again.jsonl")};
    words.insert(words.end(), more.begin(), more.end());
    return test::vcap(words);
  }
  /// A clip of 20 frames.
  std::string clip() const {
    const Result made = test::vcap(
        {"run", capsule("finder"), images(folder_, "shots", 20), "--video", path("clip.avi")});
    EXPECT_EQ(made.exit_code, 0) << made;
    return path("clip.avi");
  }
  nlohmann::json manifest() const {
    return nlohmann::json::parse(read_file(folder_ / "night/recording.json"));
  }

  const TemporaryFolder folder_;
};

TEST_F(ReplayCommand, GivesTheSameRecordsOfAClip) {
  const Result first = record(clip(), {"--option", "finder.threshold=0.75"});
  ASSERT_EQ(first.exit_code, 0) << first;
  const Result again = replay();
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_EQ(records("again.jsonl"), records("first.jsonl"));
  EXPECT_THAT(records("again.jsonl"), HasSubstr("0.75"));

  const nlohmann::json stream = manifest()["streams"][0];
  EXPECT_EQ(stream["frames"], 20);
  EXPECT_EQ(stream["lost"], 0);
  EXPECT_EQ(stream["file"]["size"], fs::file_size(path("clip.avi")));
  EXPECT_FALSE(fs::exists(path("night/clip/pictures.ffv1")));
}

TEST_F(ReplayCommand, RunsOnlyWhatComesAfterACapsule) {
  ASSERT_EQ(record(clip()).exit_code, 0);
  fs::remove(path("finder.cap"));
  for (const char* from : {"finder", "colorist"}) {
    const Result again = replay({"--from", from});
    EXPECT_EQ(again.exit_code, 0) << again;
    EXPECT_EQ(records("again.jsonl"), records("first.jsonl")) << from;
  }
}

TEST_F(ReplayCommand, KeepsThePicturesOfWhatIsNoSingleFile) {
  ASSERT_EQ(record(images(folder_, "shots", 12)).exit_code, 0);
  EXPECT_FALSE(manifest()["streams"][0].contains("file"));
  fs::remove_all(path("shots"));
  const Result again = replay();
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_EQ(records("again.jsonl"), records("first.jsonl"));
}

// A live source: its pictures are recorded, and its states get another seed in every run.
TEST_F(ReplayCommand, GivesTheSameRecordsOfACamera) {
  {
    const test::RtspServer camera;
    const Result first = record(camera.url(), {"--max-frames", "8"});
    ASSERT_EQ(first.exit_code, 0) << first;
  }
  const nlohmann::json stream = manifest()["streams"][0];
  EXPECT_TRUE(stream["live"].get<bool>());
  EXPECT_THAT(stream.dump(), Not(HasSubstr("secret")));
  const Result again = replay();
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_EQ(records("again.jsonl"), records("first.jsonl"));
  EXPECT_THAT(records("again.jsonl"), HasSubstr("track_id"));
}

TEST_F(ReplayCommand, RunsCopiesAfterEverythingElseIsGone) {
  ASSERT_EQ(record(clip(), {"--record-copies"}).exit_code, 0);
  fs::remove(path("clip.avi"));
  fs::remove(path("finder.cap"));
  fs::rename(path("night"), path("moved"));
  const Result again = test::vcap({"replay", path("moved"), "--jsonl", path("again.jsonl")});
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_EQ(records("again.jsonl"), records("first.jsonl"));
}

TEST_F(ReplayCommand, RefusesAMissingOrChangedSource) {
  ASSERT_EQ(record(clip()).exit_code, 0);
  const std::string before = manifest()["streams"][0]["file"]["sha256"];
  fs::rename(path("clip.avi"), path("moved.avi"));
  const Result missing = replay();
  EXPECT_EQ(missing.exit_code, 6) << missing;
  EXPECT_THAT(missing.err, AllOf(HasSubstr("source of stream clip"), HasSubstr("clip.avi"),
                                 HasSubstr("does not exist")));
  EXPECT_FALSE(fs::exists(path("again.jsonl")));
  EXPECT_EQ(replay({"--source", "clip=" + path("moved.avi")}).exit_code, 0);

  std::ofstream(path("moved.avi"), std::ios::app) << "more";
  const Result changed = replay({"--source", "clip=" + path("moved.avi")});
  EXPECT_EQ(changed.exit_code, 6) << changed;
  EXPECT_THAT(changed.err, AllOf(HasSubstr("is not the recorded file"), HasSubstr(before),
                                 HasSubstr("--accept-changed")));
  const Result accepted = replay({"--source", "clip=" + path("moved.avi"), "--accept-changed"});
  EXPECT_EQ(accepted.exit_code, 0) << accepted;
  EXPECT_EQ(records("again.jsonl"), records("first.jsonl"));
}

TEST_F(ReplayCommand, RefusesAMissingOrChangedCapsule) {
  ASSERT_EQ(record(clip()).exit_code, 0);
  fs::remove(path("finder.cap"));
  const Result missing = replay();
  EXPECT_EQ(missing.exit_code, 6) << missing;
  EXPECT_THAT(missing.err, AllOf(HasSubstr("capsule finder"), HasSubstr("does not exist")));

  fs::copy_file(capsule("fickle"), path("finder.cap"));
  const Result changed = replay();
  EXPECT_EQ(changed.exit_code, 6) << changed;
  EXPECT_THAT(changed.err, AllOf(HasSubstr("capsule finder"), HasSubstr("SHA-256"),
                                 HasSubstr(manifest()["capsules"][0]["file"]["sha256"])));

  const Result given = replay({"--capsule", capsule("finder")});
  EXPECT_EQ(given.exit_code, 0) << given;
  EXPECT_EQ(records("again.jsonl"), records("first.jsonl"));
}

TEST_F(ReplayCommand, SetsOtherOptions) {
  ASSERT_EQ(record(clip()).exit_code, 0);
  EXPECT_EQ(replay({"--option", "finder.threshold=0.9"}).exit_code, 0);
  EXPECT_THAT(records("again.jsonl"), AllOf(HasSubstr("0.9"), Not(HasSubstr("0.5,"))));

  const Result none = replay({"--from", "finder", "--option", "finder.threshold=0.9"});
  EXPECT_EQ(none.exit_code, 2) << none;
  EXPECT_THAT(none.err, HasSubstr("its options have no effect"));
  EXPECT_EQ(replay({"--option", "finder.threshold=9"}).exit_code, 2);
  EXPECT_EQ(replay({"--option", "findr.threshold=0.9"}).exit_code, 2);
}

TEST_F(ReplayCommand, RefusesNamesThatTheRecordingDoesNotHave) {
  ASSERT_EQ(record(clip()).exit_code, 0);
  const Result from = replay({"--from", "findr"});
  EXPECT_EQ(from.exit_code, 2) << from;
  EXPECT_THAT(from.err, AllOf(HasSubstr("no capsule \"findr\""), HasSubstr("finder")));
  EXPECT_EQ(replay({"--stream", "day"}).exit_code, 2);
  EXPECT_EQ(test::vcap({"replay", path("shots")}).exit_code, 6);
}

TEST_F(ReplayCommand, RefusesToRecordIntoAFolderThatIsTaken) {
  const std::string source = clip();
  ASSERT_EQ(record(source).exit_code, 0);
  const Result again = test::vcap({"run", capsule("finder"), source, "--record", path("night")});
  EXPECT_EQ(again.exit_code, 7) << again;
  EXPECT_THAT(again.err, HasSubstr("night exists already"));
  EXPECT_EQ(replay().exit_code, 0);
}

TEST_F(ReplayCommand, ReadsWhatAKilledRunHasRecorded) {
  const std::string gate = path("gate");
  ASSERT_EQ(::mkfifo(gate.c_str(), 0600), 0);
  const std::string config = "finder=" + nlohmann::json{{"gate", gate}, {"gate_at", 9}}.dump();
  test::Command run({"run", capsule("finder"), images(folder_, "shots", 20), "--config", config,
                     "--record", path("night"), "--frames-in-flight", "1"});
  const fs::path frames = folder_ / "night/shots/frames.jsonl";
  test::await_files("frames of the recording", [&] {
    if (!fs::exists(frames)) return false;
    const std::string lines = read_file(frames);
    return std::ranges::count(lines, '\n') >= 5;
  });
  run.send(SIGKILL);
  run.wait();
  std::ofstream(frames, std::ios::app) << "{\"record\":{\"schema\":\"vc";  // cut off

  EXPECT_FALSE(manifest()["streams"][0]["complete"].get<bool>());
  const Result again = replay({"--from", "finder"});
  EXPECT_EQ(again.exit_code, 0) << again;
  const std::string lines = records("again.jsonl");
  EXPECT_GE(std::ranges::count(lines, '\n'), 5);
  EXPECT_THAT(lines, HasSubstr("\"frame_index\":4"));
}

TEST_F(ReplayCommand, CountsWhatAFullDiskLoses) {
  const std::string gate = path("gate");
  ASSERT_EQ(::mkfifo(gate.c_str(), 0600), 0);
  const std::string config = "finder=" + nlohmann::json{{"gate", gate}}.dump();
  test::Command run({"run", capsule("finder"), images(folder_, "shots", 30), "--config", config,
                     "--record", path("night")});
  test::await_files("the folder of the stream",
                    [&] { return fs::exists(folder_ / "night/shots/pictures.ffv1"); });
  run.limit_file_size(8000);  // of which the manifest takes less
  std::ofstream opened(gate);
  const Result result = run.wait();

  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.out, AllOf(HasSubstr("30 frames"), HasSubstr("records lost to"),
                                HasSubstr("night, stream shots: failed")));
  const nlohmann::json stream = manifest()["streams"][0];
  EXPECT_GT(stream["lost"], 0);
  EXPECT_EQ(stream["lost"].get<int>() + stream["frames"].get<int>(), 30);
}

}  // namespace
}  // namespace vcap
