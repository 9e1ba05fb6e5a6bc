// SPDX-License-Identifier: Apache-2.0
// vcap run on valid sources: records, clips and the summary.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include <opencv2/videoio.hpp>

#include "cli/command.hpp"
#include "cli/images.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using test::images;
using test::read_file;
using test::Result;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::vector<nlohmann::json> records_in(const std::string& lines) {
  std::vector<nlohmann::json> records;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);)
    records.push_back(nlohmann::json::parse(line));
  return records;
}

/// Runs `vcap run` with all three capsules and the given arguments.
Result run_all(std::vector<std::string> arguments) {
  std::vector<std::string> words{"run"};
  for (const char* name : {"colorist", "follower", "finder"})
    words.insert(words.end(), {"--capsule", test::capsule(name)});
  words.insert(words.end(), arguments.begin(), arguments.end());
  return test::vcap(words);
}

int frames_of(const fs::path& clip) {
  cv::VideoCapture video(clip.string());
  int frames = 0;
  for (cv::Mat frame; video.read(frame);) ++frames;
  return frames;
}

TEST(RunCommand, WritesARecordForEachFrame) {
  const TemporaryFolder folder;

  const Result result = run_all(
      {"--source", images(folder, "shots", 12), "--jsonl", (folder / "frames.jsonl").string()});

  EXPECT_EQ(result.exit_code, 0) << result;
  const auto records = records_in(read_file(folder / "frames.jsonl"));
  ASSERT_EQ(records.size(), 12u);
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i]["frame_index"], i);
    EXPECT_EQ(records[i]["stream_id"], "shots");
    const nlohmann::json& person = records[i]["objects"].at(0);
    EXPECT_EQ(person["attributes"]["color"], "red");
    EXPECT_EQ(person["track_id"], records[0]["objects"].at(0)["track_id"]);
    EXPECT_TRUE(person.contains("encoding"));
  }
}

TEST(RunCommand, TakesCapsulesAndSourcesWithoutOptions) {
  const TemporaryFolder folder;
  const std::string shots = images(folder, "shots", 4);
  const Result result = test::vcap({"run", test::capsule("colorist"), shots,
                                    test::capsule("finder"), "--source", shots, "--jsonl", "-"});
  EXPECT_EQ(result.exit_code, 0) << result;
  std::map<std::string, int> records;
  for (const nlohmann::json& record : records_in(result.out)) {
    ++records[record["stream_id"]];
    EXPECT_EQ(record["objects"].at(0)["attributes"]["color"], "red");
  }
  EXPECT_EQ(records, (std::map<std::string, int>{{"shots", 4}, {"shots-2", 4}}))
      << "the same source twice is two streams";
}

TEST(RunCommand, PrintsALineForEachFrameOnRequest) {
  const TemporaryFolder folder;
  const std::string shots = images(folder, "shots", 3);
  const Result result = test::vcap({"run", test::capsule("finder"), shots, "--config",
                                    R"(finder={"throw_at":[1]})", "--frame-lines"});
  EXPECT_THAT(
      result.out,
      AllOf(HasSubstr("shots frame 0 (0:00.000): 1 person\n"),
            HasSubstr("shots frame 1 (0:00.040): no objects; 1 error: finder: "),
            HasSubstr("shots frame 2 (0:00.080): 1 person\n"), HasSubstr("stream shots (")));

  const Result refused =
      test::vcap({"run", test::capsule("finder"), shots, "--frame-lines", "--jsonl", "-"});
  EXPECT_EQ(refused.exit_code, 2) << refused;
  EXPECT_THAT(refused.err, HasSubstr("--frame-lines writes to standard output"));
}

TEST(RunCommand, SummarisesWhatItFound) {
  const TemporaryFolder folder;

  const Result result = run_all(
      {"--source", images(folder, "shots", 12), "--summary", (folder / "summary.txt").string()});

  EXPECT_THAT(result.out, HasSubstr("stream shots (images in "));
  EXPECT_THAT(result.out, HasSubstr("  frames           12 in "));
  EXPECT_THAT(result.out, HasSubstr("  dropped          none\n"));
  EXPECT_THAT(result.out, HasSubstr("  failed frames    0\n"));
  EXPECT_THAT(result.out, HasSubstr("  objects          person 12\n"));
  EXPECT_THAT(result.out, HasSubstr("  with objects     12 frames (100.0 %)\n"));
  EXPECT_THAT(result.out, HasSubstr("  tracks           1, median length 12 frames\n"));
  EXPECT_THAT(result.out, HasSubstr("  color            red 12\n"));
  EXPECT_THAT(result.out, HasSubstr("  encodings        12\n"));
  EXPECT_EQ(read_file(folder / "summary.txt"), result.out);
}

TEST(RunCommand, WritesAClipThatPlays) {
  const TemporaryFolder folder;

  const Result result =
      run_all({"--source", images(folder, "shots", 12), "--video", (folder / "clip.avi").string()});

  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_EQ(frames_of(folder / "clip.avi"), 12);
}

TEST(RunCommand, DrawsTheGivenPartsOnAClip) {
  const TemporaryFolder folder;
  const std::string source = images(folder, "shots", 3);
  const auto picture_of = [&](const std::string& name, const std::vector<std::string>& options) {
    // Without losses, so that pixels can be compared.
    std::vector<std::string> words{"--source",        source, "--video", (folder / name).string(),
                                   "--video-quality", "0"};
    words.insert(words.end(), options.begin(), options.end());
    const Result result = run_all(words);
    EXPECT_EQ(result.exit_code, 0) << result;
    cv::VideoCapture clip((folder / name).string());
    cv::Mat first;
    EXPECT_TRUE(clip.read(first));
    return first;
  };
  const auto same = [](const cv::Mat& a, const cv::Mat& b) {
    return cv::norm(a, b, cv::NORM_INF) == 0;
  };
  const cv::Mat usual = picture_of("a.mkv", {});
  const cv::Mat nobody = picture_of("b.mkv", {"--draw", "boxes:car"});
  EXPECT_TRUE(same(picture_of("c.mkv", {"--draw", "boxes,polygons,labels"}), usual));
  const cv::Mat masks = picture_of("d.mkv", {"--draw", "masks:person"});
  EXPECT_FALSE(same(masks, usual));
  EXPECT_FALSE(same(masks, nobody));
}

TEST(RunCommand, CompressesAClipByTheGivenCodecAndQuality) {
  const TemporaryFolder folder;
  const std::string source = images(folder, "shots", 12);
  const auto size_at = [&](const std::string& name, const std::vector<std::string>& options) {
    std::vector<std::string> words{"--source", source, "--video", (folder / name).string()};
    words.insert(words.end(), options.begin(), options.end());
    const Result result = run_all(words);
    EXPECT_EQ(result.exit_code, 0) << result;
    EXPECT_EQ(frames_of(folder / name), 12) << name;
    return fs::file_size(folder / name);
  };

  const auto by_default = size_at("a.mp4", {});
  EXPECT_GT(by_default, size_at("b.mp4", {"--video-quality", "45"}));
  EXPECT_LT(by_default, size_at("c.mkv", {"--video-codec", "mjpeg", "--video-quality", "2"}));
  EXPECT_NE(by_default, size_at("d.mp4", {"--video-codec", "vp9"}));
}

TEST(RunCommand, GivesTheSameRecordsInEveryRun) {
  const TemporaryFolder folder;
  const std::string source = images(folder, "shots", 12);

  run_all({"--source", source, "--jsonl", (folder / "first.jsonl").string()});
  run_all({"--source", source, "--jsonl", (folder / "second.jsonl").string()});

  EXPECT_EQ(read_file(folder / "first.jsonl"), read_file(folder / "second.jsonl"));
}

TEST(RunCommand, EndsAfterTheGivenNumberOfFrames) {
  const TemporaryFolder folder;

  const Result result = run_all({"--source", images(folder, "shots", 12), "--max-frames", "5"});

  EXPECT_THAT(result.out, HasSubstr("  frames           5 in "));
}

TEST(RunCommand, NamesStreamsAndClipsAfterTheirSources) {
  const TemporaryFolder folder;
  images(folder, "north/cam", 3);
  images(folder, "south/cam", 4);

  const Result result =
      run_all({"--source", (folder / "north/cam").string(), "--source",
               (folder / "south/cam/*.png").string(), "--video", (folder / "clip.avi").string()});

  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.out, HasSubstr("stream cam ("));
  EXPECT_THAT(result.out, HasSubstr("stream cam-2 ("));
  EXPECT_EQ(frames_of(folder / "clip-cam.avi"), 3);
  EXPECT_EQ(frames_of(folder / "clip-cam-2.avi"), 4);
  EXPECT_FALSE(fs::exists(folder / "clip.avi"));
}

TEST(RunCommand, WritesOnlyRecordsToStandardOutputIfAskedTo) {
  const TemporaryFolder folder;

  const Result result = run_all({"--source", images(folder, "shots", 3), "--jsonl", "-"});

  EXPECT_EQ(records_in(result.out).size(), 3u);
  EXPECT_THAT(result.err, HasSubstr("stream shots"));
}

TEST(RunCommand, SetsOptionsByCapsuleAndName) {
  const TemporaryFolder folder;

  const Result result = run_all({"--source", images(folder, "shots", 1), "--option",
                                 "finder.threshold=0.75", "--jsonl", "-"});

  EXPECT_EQ(records_in(result.out).at(0)["objects"].at(0)["confidence"], 0.75);
}

TEST(RunCommand, SetsOptionsAndChoosesCapsulesForASingleStream) {
  const TemporaryFolder folder;

  const Result result =
      run_all({"--source", images(folder, "gate", 1), "--source", images(folder, "yard", 1),
               "--option", "finder.threshold=0.5", "--stream-option", "yard:finder.threshold=0.75",
               "--stream-capsules", "yard=finder", "--frames-in-flight", "2", "--jsonl", "-"});

  ASSERT_EQ(result.exit_code, 0) << result;
  for (const nlohmann::json& record : records_in(result.out)) {
    const nlohmann::json& found = record["objects"].at(0);
    const bool is_yard = record["stream_id"] == "yard";
    EXPECT_EQ(found["confidence"], is_yard ? 0.75 : 0.5);
    EXPECT_EQ(found.contains("track_id"), !is_yard);
  }
}

TEST(RunCommand, AnalysesEveryNthFrameAndReportsTheOthers) {
  const TemporaryFolder folder;
  const Result result = run_all({"--source", images(folder, "gate", 7), "--keep-every", "3",
                                 "--overflow", "wait", "--jsonl", "-"});
  ASSERT_EQ(result.exit_code, 0) << result;
  const auto records = records_in(result.out);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[2]["frame_index"], 6);
  EXPECT_EQ(records[2]["drops"].dump(),
            R"([{"frame_index":4,"reason":"skipped"},{"frame_index":5,"reason":"skipped"}])");
}

TEST(RunCommand, RefusesInvalidSettingsOfStreams) {
  const TemporaryFolder folder;
  const std::string source = images(folder, "gate", 1);
  for (const auto& [option, value, message] :
       {std::tuple{"--stream-option", "gate.threshold=1", "write stream:capsule.name=value"},
        std::tuple{"--stream-option", "yard:finder.threshold=1", "the streams are gate"},
        std::tuple{"--stream-option", "gate:finder.threshold=9", "is not within"},
        std::tuple{"--stream-capsules", "gate", "write stream=capsule,capsule"},
        std::tuple{"--stream-capsules", "gate=loser", "no capsule has the name \"loser\""},
        std::tuple{"--stream-capsules", "gate=follower", "needs nodes named"},
        std::tuple{"--deadline", "0", "--deadline 0 is not a time"},
        std::tuple{"--deadline", "soon", "give none for no deadline"},
        std::tuple{"--max-pixels", "0", "--max-pixels"},
        std::tuple{"--keep-every", "0", "--keep-every"},
        std::tuple{"--invalid-output", "keep", "--invalid-output"},
        std::tuple{"--overflow", "drop", "--overflow"}}) {
    const Result result = run_all({"--source", source, option, value});
    EXPECT_EQ(result.exit_code, 2) << result;
    EXPECT_THAT(result.err, HasSubstr(message));
  }
}

TEST(RunCommand, LeavesOutCapsulesThatDoNotFit) {
  const TemporaryFolder folder;
  const Result result = test::vcap({"run", "--capsule", test::capsule("follower"), "--source",
                                    images(folder, "gate", 2), "--leave-out"});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.err, HasSubstr("vcap: left out: capsule follower needs"));
  EXPECT_THAT(result.out, HasSubstr("frames           2 in"));
}

TEST(RunCommand, QuarantinesACapsuleThatKeepsFailing) {
  const TemporaryFolder folder;
  const Result result =
      run_all({"--source", images(folder, "shots", 6), "--frames-in-flight", "1", "--config",
               R"(finder={"throw_at":[0,1,2,3,4,5]})", "--quarantine", "2", "--jsonl", "-"});
  EXPECT_THAT(result.out, HasSubstr("\"code\":\"quarantined\""));
}

TEST(RunCommand, TreatsInvalidOutputAsToldTo) {
  const TemporaryFolder folder;
  const std::string shots = images(folder, "shots", 2);
  const auto records = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"run", "--capsule", test::capsule("finder"),      "--source",
                                       shots, "--config",  R"(finder={"name":"persn"})", "--jsonl",
                                       "-"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::vcap(arguments);
  };
  for (const Result& result : {records({}), records({"--invalid-output", "error"})}) {
    EXPECT_EQ(result.exit_code, 1) << "a capsule failed on every frame";
    EXPECT_THAT(result.out, AllOf(HasSubstr(R"("code":"invalid_output")"),
                                  HasSubstr(R"(did you mean \"person\"?)")));
    EXPECT_THAT(result.out, Not(HasSubstr(R"("name":"persn")")));
  }
  const Result warned = records({"--invalid-output", "warn"});
  EXPECT_EQ(warned.exit_code, 0) << warned;
  EXPECT_THAT(warned.out, AllOf(HasSubstr(R"("name":"persn")"), HasSubstr(R"("warnings":[)"),
                                Not(HasSubstr(R"("errors":[)"))));
  const Result unchecked = records({"--invalid-output", "off"});
  EXPECT_EQ(unchecked.exit_code, 0) << unchecked;
  EXPECT_THAT(unchecked.out, AllOf(HasSubstr(R"("name":"persn")"), Not(HasSubstr("warnings"))));
}

TEST(RunCommand, RefusesMoreNodesOrBytesThanItWasTold) {
  const TemporaryFolder folder;
  const std::string shots = images(folder, "shots", 1);
  const auto errors = [&](const std::string& option, const std::string& bound) {
    const Result result =
        test::vcap({"run", "--capsule", test::capsule("finder"), "--source", shots, "--config",
                    R"(finder={"count":3})", "--jsonl", "-", option, bound});
    EXPECT_NE(result.exit_code, 2) << result;
    return nlohmann::json::parse(result.out).value("errors", nlohmann::json::array());
  };
  EXPECT_THAT(errors("--max-nodes", "2").dump(), HasSubstr("invalid_output"));
  EXPECT_TRUE(errors("--max-nodes", "3").empty());
  EXPECT_THAT(errors("--max-node-bytes", "30").dump(), HasSubstr("invalid_output"));
  EXPECT_TRUE(errors("--max-node-bytes", "10000").empty());
  const Result none = run_all({"--source", shots, "--max-nodes", "0"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("--max-nodes"));
}

TEST(RunCommand, QuarantinesACapsuleInAllStreams) {
  const TemporaryFolder folder;
  nlohmann::json config{{"throw_at", nlohmann::json::array()}};
  for (int i = 0; i < 200; ++i) config["throw_at"].push_back(i);
  const Result result =
      run_all({"--source", images(folder, "gate", 200), "--source", images(folder, "yard", 200),
               "--config", "finder=" + config.dump(), "--quarantine-all", "3", "--jsonl", "-"});
  EXPECT_THAT(result.out, HasSubstr("\"code\":\"quarantined\""));
}

TEST(RunCommand, ReportsAPipeWhoseReaderHasClosedIt) {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::jthread reader([&] {
    const int end = ::open(pipe.c_str(), O_RDONLY | O_CLOEXEC);
    char first = 0;
    EXPECT_EQ(::read(end, &first, 1), 1);
    ::close(end);
  });
  test::Command command(
      {"run", "--capsule", test::capsule("finder"), "--source", images(folder, "gate", 300),
       "--jsonl", "-", "--summary", (folder / "summary.txt").string()},
      {.standard_output = pipe});
  const Result result = command.wait();
  EXPECT_EQ(result.exit_code, 7) << result;
  EXPECT_THAT(result.err, HasSubstr("Broken pipe"));
  for (const std::string& name : folder.names())
    EXPECT_THAT(name, testing::Not(HasSubstr(".part")));
}

TEST(RunCommand, RefusesPicturesBeyondTheBound) {
  const TemporaryFolder folder;
  const Result result = run_all({"--source", images(folder, "shots", 2), "--max-pixels", "10"});
  EXPECT_EQ(result.exit_code, 6) << result;
  EXPECT_THAT(result.err, HasSubstr("pixels, more than 10 (SourceOptions::max_pixels)"));
}

TEST(RunCommand, RefusesAPlaylistThatIsNotAskedFor) {
  const TemporaryFolder folder;
  const std::string list =
      folder.write("list.m3u8", "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\na.ts\n").string();
  const Result result = run_all({"--source", list});
  EXPECT_EQ(result.exit_code, 6) << result;
  EXPECT_THAT(result.err, HasSubstr("put hls: before the source"));
}

TEST(RunCommand, EndsEvenIfACapsuleDoesNotReturn) {
  const TemporaryFolder folder;
  const std::string gate = (folder / "gate").string();  // never opened for writing
  ASSERT_EQ(::mkfifo(gate.c_str(), 0600), 0);
  const Result result = run_all({"--source", images(folder, "shots", 3), "--config",
                                 "finder=" + nlohmann::json{{"gate", gate}, {"gate_at", 1}}.dump(),
                                 "--deadline", "0.2", "--jsonl", (folder / "a.jsonl").string()});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.err, HasSubstr("frame 1: capsule finder version 1"));
  EXPECT_THAT(result.err, HasSubstr("ends without waiting for calls that do not return"));
  EXPECT_EQ(records_in(read_file(folder / "a.jsonl")).at(1)["errors"].at(0)["code"],
            "deadline_exceeded");
}

TEST(RunCommand, GivesACapsuleItsConfigFromTheCommandLineOrAFile) {
  const TemporaryFolder folder;
  const std::string source = images(folder, "shots", 3);
  const std::string json = R"({"throw_at":[1]})";
  const std::string file = folder.write("config.json", json).string();

  for (const std::string& config : {json, "@" + file}) {
    const Result result = run_all({"--source", source, "--config", "finder=" + config});
    EXPECT_EQ(result.exit_code, 0) << result;
    EXPECT_THAT(result.out,
                HasSubstr("  failed frames    1, the first: frame 1: capsule finder: "));
  }
}

TEST(RunCommand, RecordsAFrameThatFailedAndContinues) {
  const TemporaryFolder folder;

  const Result result =
      run_all({"--source", images(folder, "shots", 12), "--config", R"(finder={"throw_at":[7]})",
               "--jsonl", (folder / "frames.jsonl").string()});

  EXPECT_EQ(result.exit_code, 0) << result;
  const auto records = records_in(read_file(folder / "frames.jsonl"));
  ASSERT_EQ(records.size(), 12u);
  for (const auto& record : records)
    EXPECT_EQ(record.contains("errors"), record["frame_index"] == 7) << record;
  EXPECT_EQ(records[7]["errors"].at(0)["capsule"], "finder");
  EXPECT_EQ(records[7]["errors"].at(0)["message"], "a frame that this capsule does not like");
  EXPECT_EQ(records[8]["objects"].size(), 1u);
}

TEST(RunCommand, ContinuesIfImagesChangeTheirSize) {
  const TemporaryFolder folder;
  const std::string source = images(folder, "shots", 3);
  images(folder, "large", 1, {128, 96});
  fs::rename(folder / "large/0.png", folder / "shots/3.png");

  const Result result = run_all({"--source", source, "--jsonl", (folder / "a.jsonl").string(),
                                 "--video", (folder / "clip.avi").string()});

  EXPECT_EQ(result.exit_code, 0) << result;
  const auto records = records_in(read_file(folder / "a.jsonl"));
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[2]["resolution"]["width"], 64);
  EXPECT_EQ(records[3]["resolution"]["width"], 128);
  EXPECT_EQ(frames_of(folder / "clip.avi"), 4);
}

TEST(RunCommand, ShowsProgressOnATerminal) {
  const TemporaryFolder folder;

  const Result result = test::Command({"run", "--capsule", test::capsule("finder"), "--source",
                                       images(folder, "shots", 12)},
                                      {.terminal = true})
                            .wait();

  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.err, HasSubstr(" of 12 frames, "));
  EXPECT_THAT(result.err, HasSubstr(" frames/s"));
}

TEST(RunCommand, ShowsNoProgressInAPipe) {
  const TemporaryFolder folder;

  const Result result = run_all({"--source", images(folder, "shots", 12)});

  EXPECT_EQ(result.err, "");
}

}  // namespace
}  // namespace vcap
