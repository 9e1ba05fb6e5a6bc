// SPDX-License-Identifier: Apache-2.0
// vcap run --record, and vcap replay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/images.hpp"
#include "support/http_receiver.hpp"
#include "support/rtsp_server.hpp"
#include "vcap/records/event_record.hpp"

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

/// A person who stays in the picture for 0.2 s, which is five images.
constexpr const char* kStayRule = R"({"schema": "vcap.event-rules/1",
  "rules": [{"name": "stays", "kind": "stay", "at_least": 0.2}]})";

TEST_F(ReplayCommand, WritesTheOutputsOfARun) {
  const std::string rules = folder_.write("rules.json", kStayRule);
  const std::string secret = folder_.write("secret", "secret=a secret\n");
  const auto outputs = [&](const std::string& run, test::HttpReceiver& server) {
    std::vector<std::string> words{
        "--events", rules, "--publish", server.url(), "--publish-secret-file", secret};
    for (const auto& [option, name] : std::initializer_list<std::pair<const char*, const char*>>{
             {"--event-log", "/events.jsonl"},
             {"--spool", "/spool"},
             {"--report", "/report.html"},
             {"--video", "/clip.avi"}})
      words.insert(words.end(), {option, path(run) + name});
    words.insert(words.end(), {"--export", "coco:" + path(run) + "/all.json"});
    fs::create_directory(path(run));
    return words;
  };
  // An event of a replay is another event, with an id of its own, and other messages.
  const auto messages = [](const test::HttpReceiver& server) {
    std::vector<nlohmann::json> bodies;
    for (const auto& request : server.requests()) {
      bodies.push_back(nlohmann::json::parse(request.body));
      bodies.back().erase("message");
      bodies.back().erase("id");
    }
    return bodies;
  };
  test::HttpReceiver first_server, again_server;
  const Result first = record(images(folder_, "shots", 20), outputs("first", first_server));
  ASSERT_EQ(first.exit_code, 0) << first;
  const Result again = replay(outputs("again", again_server));
  ASSERT_EQ(again.exit_code, 0) << again;

  EXPECT_THAT(messages(first_server), testing::SizeIs(2));
  EXPECT_EQ(messages(again_server), messages(first_server));
  EXPECT_EQ(messages(again_server).size(),
            read_event_journal(path("again/events.jsonl")).records.size());
  for (const char* same : {"all.json", "clip.avi"})
    EXPECT_EQ(records("again/" + std::string(same)), records("first/" + std::string(same))) << same;
  EXPECT_THAT(records("again/report.html"),
              AllOf(HasSubstr("<h2>What ran</h2>"), HasSubstr(">finder</td>"),
                    HasSubstr("<td>stays</td>")));
}

/// What finder finds in the formats of other tools, and what the follower makes of it.
class ReplayOfObjectsCommand : public ReplayCommand {
 protected:
  ReplayOfObjectsCommand() {
    std::vector<std::string> words{"run", capsule("finder"), shots_, "--jsonl",
                                   path("found.jsonl")};
    for (const std::string format : {"coco", "yolo", "csv", "mot", "voc"})
      words.insert(words.end(), {"--export", format + ":" + path(file_of(format))});
    const Result found = test::vcap(words);
    EXPECT_EQ(found.exit_code, 0) << found;
    const Result whole = test::vcap({"run", capsule("finder"), capsule("follower"), shots_,
                                     "--record", path("night"), "--jsonl", path("first.jsonl")});
    EXPECT_EQ(whole.exit_code, 0) << whole;
  }
  static std::string file_of(const std::string& format) {
    const std::map<std::string, std::string> extensions{{"coco", ".json"}, {"csv", ".csv"}};
    const auto extension = extensions.find(format);
    return "found-" + format + (extension == extensions.end() ? "" : extension->second);
  }
  /// Runs the follower on objects, without a recording.
  Result follow(const std::string& input, std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"replay",  path(input),        "--capsule", capsule("follower"),
                                   "--jsonl", path("again.jsonl")};
    words.insert(words.end(), more.begin(), more.end());
    return test::vcap(words);
  }
  /// The box and track of each object: what all of the formats hold.
  std::vector<std::string> tracks(const std::string& name) const {
    std::vector<std::string> found;
    std::ifstream file(folder_ / name);
    for (std::string line; std::getline(file, line);) {
      const auto record = nlohmann::json::parse(line);
      for (const auto& object : record.at("objects"))
        found.push_back(record.at("frame_index").dump() + object.at("name").dump() +
                        object.at("bbox").dump() + object.at("track_id").dump());
    }
    return found;
  }

  const std::string shots_ = images(folder_, "shots", 12);
};

TEST_F(ReplayOfObjectsCommand, TracksTheObjectsOfEveryFormat) {
  const auto first = tracks("first.jsonl");
  ASSERT_EQ(first.size(), 12u);
  for (const std::string format : {"coco", "yolo", "csv", "mot", "voc"}) {
    const std::string input = file_of(format);
    // Exports have the stream's id, except for YOLO and VOC without it.
    const Result alone = follow(input, {"--source", shots_});
    EXPECT_EQ(alone.exit_code, 0) << format << alone;
    EXPECT_THAT(alone.out, HasSubstr("12 frames")) << format;
    EXPECT_EQ(tracks("again.jsonl"), first) << format;
    const Result within = replay({"--from", "finder", "--objects", path(input)});
    EXPECT_EQ(within.exit_code, 0) << format << within;
    EXPECT_EQ(tracks("again.jsonl"), first) << format;
  }
  EXPECT_EQ(follow("found.jsonl", {"--source", "shots=" + shots_}).exit_code, 0);
  EXPECT_EQ(records("again.jsonl"), records("first.jsonl")) << "byte for byte";
}

TEST_F(ReplayOfObjectsCommand, RenamesObjects) {
  folder_.write("people.txt", "1,-1,2,2,8,8,0.9,1,-1\n3,-1,2,2,8,8,0.9,1,-1\n");
  const Result none = follow("people.txt", {"--source", shots_});
  EXPECT_EQ(none.exit_code, 2) << none;
  EXPECT_THAT(none.err, HasSubstr("pedestrian"));
  const Result named = follow("people.txt", {"--source", shots_, "--name", "person=pedestrian"});
  EXPECT_EQ(named.exit_code, 0) << named;
  EXPECT_THAT(tracks("again.jsonl"),
              testing::ElementsAre(HasSubstr("0\"person\""), HasSubstr("2\"person\"")));
}

TEST_F(ReplayOfObjectsCommand, DrawsObjectsWithoutACapsule) {
  const Result drawn = test::vcap({"replay", path("found-mot"), "--source", shots_, "--video",
                                   path("drawn.avi"), "--max-frames", "5"});
  EXPECT_EQ(drawn.exit_code, 0) << drawn;
  EXPECT_THAT(drawn.out, HasSubstr("5 frames"));
  EXPECT_GT(fs::file_size(path("drawn.avi")), 1000u);
}

TEST_F(ReplayOfObjectsCommand, SaysWhichObjectsHadNoFrame) {
  const Result result = follow("found.jsonl", {"--source", images(folder_, "few", 3)});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.err, HasSubstr("9 frames with objects of stream shots had no frame"));
}

TEST_F(ReplayOfObjectsCommand, RefusesWhatDoesNotBelongTogether) {
  const auto expect_usage = [](const Result& result, const std::string& why) {
    EXPECT_EQ(result.exit_code, 2) << result;
    EXPECT_THAT(result.err, HasSubstr(why));
  };
  expect_usage(follow("found.jsonl"), "--source shots=PATH");
  expect_usage(follow("found.jsonl", {"--source", "day=" + shots_}), "no stream \"day\"");
  expect_usage(follow("found.jsonl", {"--source", shots_, "--source", shots_}), "one already");
  expect_usage(follow("found.jsonl", {"--source", shots_, "--from", "finder"}),
               "--from: " + path("found.jsonl") + " is a file of objects");
  expect_usage(follow("found.jsonl", {"--source", shots_, "--format", "jsn"}), "--format");
  expect_usage(follow("found.jsonl", {"--source", shots_, "--capsule", capsule("follower")}),
               "given twice");
  expect_usage(replay({"--objects", path("found.jsonl")}), "--from");
  expect_usage(replay({"--from", "follower", "--objects", path("found.jsonl"), "--name", "a="}),
               "--name");
  expect_usage(replay({"--name", "man"}), "--name: " + path("night") + " is a recording");
  expect_usage(replay({"--frame-size", "3x3"}), "--frame-size");
  expect_usage(
      replay({"--from", "finder", "--objects", "day=" + path("found.jsonl"), "--stream", "shots"}),
      "stream \"day\" is not replayed");
  fs::create_directory(path("empty"));
  const Result neither = follow("empty", {"--source", shots_});
  EXPECT_EQ(neither.exit_code, 6) << neither;
  EXPECT_THAT(neither.err, HasSubstr("neither a recording"));
  const Result missing = follow("lost.jsonl", {"--source", shots_});
  EXPECT_EQ(missing.exit_code, 6) << missing;
  EXPECT_THAT(missing.err, HasSubstr("lost.jsonl does not exist"));
  folder_.write("cut.jsonl", records("found.jsonl").substr(0, 200));
  expect_usage(follow("cut.jsonl", {"--source", shots_}), "line 1");
  const Result other = follow("found.jsonl", {"--source", images(folder_, "large", 12, {96, 48})});
  EXPECT_EQ(other.exit_code, 1) << other;
  EXPECT_THAT(other.err, HasSubstr("64 × 48 pixels, and the frame of the source has 96 × 48"));
}

TEST_F(ReplayOfObjectsCommand, ReplacesNoInput) {
  const std::string before = records("found.jsonl");
  const auto expect_kept = [&](const Result& result) {
    EXPECT_EQ(result.exit_code, 2) << result;
    EXPECT_THAT(result.err, HasSubstr("would replace"));
    EXPECT_EQ(records("found.jsonl"), before);
  };
  expect_kept(test::vcap(
      {"replay", path("found.jsonl"), "--source", shots_, "--jsonl", path("found.jsonl")}));
  expect_kept(test::vcap({"replay", path("found.jsonl"), "--source", shots_, "--export",
                          "csv:" + path("found.jsonl")}));
  expect_kept(test::vcap({"replay", path("night"), "--from", "finder", "--objects",
                          path("found.jsonl"), "--jsonl", path("found.jsonl")}));
  expect_kept(test::vcap(
      {"replay", path("found-mot"), "--source", shots_, "--jsonl", path("found-mot/gt/gt.txt")}));
  fs::copy_file(path("found.jsonl"), path("other.jsonl.part"));
  expect_kept(test::vcap({"replay", path("other.jsonl.part"), "--format", "jsonl", "--source",
                          shots_, "--jsonl", path("other.jsonl")}));
  fs::copy_file(capsule("finder"), path("own.cap"));
  expect_kept(test::vcap({"run", path("own.cap"), shots_, "--jsonl", path("own.cap")}));
}

}  // namespace
}  // namespace vcap
