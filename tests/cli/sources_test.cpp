// SPDX-License-Identifier: Apache-2.0
// vcap sources, and the parts of sources that vcap run reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

#include <opencv2/videoio.hpp>

#include "cli/command.hpp"
#include "cli/images.hpp"
#include "support/camera.hpp"
#include "support/rtsp_server.hpp"

namespace vcap {
namespace {

using test::images;
using test::Result;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(SourcesCommand, ListsWebcams) {
  const Result text = test::vcap({"sources"});
  EXPECT_EQ(text.exit_code, 0) << text;
  EXPECT_NE(text.out, "");
  const Result json = test::vcap({"sources", "--json"});
  EXPECT_EQ(json.exit_code, 0) << json;
  EXPECT_TRUE(nlohmann::json::parse(json.out).is_array());
}

TEST(SourcesCommand, DescribesASource) {
  const TemporaryFolder folder;
  const std::string shots = images(folder, "shots", 3);
  const Result text = test::vcap({"sources", shots});
  EXPECT_EQ(text.exit_code, 0) << text;
  EXPECT_EQ(text.out, "images in " + shots + ": stored, 64 x 48, 25.0 frames/s, 3 frames\n");
  const Result json = test::vcap({"sources", "--json", shots});
  EXPECT_EQ(nlohmann::json::parse(json.out),
            nlohmann::json({{{"source", "images in " + shots},
                             {"live", false},
                             {"size", {{"width", 64}, {"height", 48}}},
                             {"frames_per_second", 25.0},
                             {"frames", 3}}}));
}

TEST(SourcesCommand, TriesAllSourcesAndExitsWithTheFirstFailure) {
  const TemporaryFolder folder;
  const std::string shots = images(folder, "shots", 3);
  const Result result =
      test::vcap({"sources", "--json", "/nowhere.mp4", shots, "http://joe:secret@127.0.0.1:1/x"});
  EXPECT_EQ(result.exit_code, 6) << result;
  EXPECT_THAT(result.err, AllOf(HasSubstr("vcap: source /nowhere.mp4 does not exist"),
                                HasSubstr("joe:***@"), Not(HasSubstr("secret"))));
  EXPECT_THAT(result.out, Not(HasSubstr("secret")));
  const auto list = nlohmann::json::parse(result.out);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0]["error"]["code"], "source_open");
  EXPECT_EQ(list[1]["frames"], 3);
  EXPECT_EQ(list[2]["error"]["code"], "source_open");
}

TEST(SourcesCommand, ProbesUrls) {
  const test::Camera camera(50);
  const test::RtspServer server;
  const Result result = test::vcap({"sources", "--json", camera.url(), server.url()});
  EXPECT_EQ(result.exit_code, 0) << result;
  const auto list = nlohmann::json::parse(result.out);
  ASSERT_EQ(list.size(), 2u);
  for (const auto& source : list) {
    EXPECT_EQ(source.at("live"), true);
    EXPECT_EQ(source.at("size"), (nlohmann::json{{"width", 64}, {"height", 48}}));
    EXPECT_EQ(source.at("codec"), "mjpeg");
  }
  EXPECT_THAT(result.out, AllOf(HasSubstr("joe:***@"), Not(HasSubstr("secret"))));
}

/// A clip in motion JPEG.
std::string clip(const TemporaryFolder& folder, int frames) {
  std::string path = (folder / "clip.avi").string();
  cv::VideoWriter writer(path, cv::CAP_FFMPEG, cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), 10,
                         {64, 48});
  for (int i = 0; i < frames; ++i) writer.write(cv::Mat(48, 64, CV_8UC3, cv::Scalar::all(20 * i)));
  return path;
}

TEST(SourcesCommand, NamesTheDecoderOfAVideo) {
  const TemporaryFolder folder;
  const std::string path = clip(folder, 5);
  const Result text = test::vcap({"sources", path});
  EXPECT_THAT(text.out, testing::EndsWith(", mjpeg\n")) << "the codec is printed twice";
  for (const bool hwaccel : {false, true}) {
    std::vector<std::string> words{"sources", "--json", path};
    if (hwaccel) words.push_back("--hwaccel");
    const Result json = test::vcap(words);
    EXPECT_EQ(json.exit_code, 0) << json;
    const auto source = nlohmann::json::parse(json.out).at(0);
    EXPECT_EQ(source.at("codec"), "mjpeg");
    EXPECT_THAT(source.at("decoder").get<std::string>(), testing::StartsWith("mjpeg"));
  }
}

TEST(RunCommand, DecodesByHardwareIfAvailable) {
  const TemporaryFolder folder;
  const Result result = test::vcap({"run", "--capsule", test::capsule("finder"), "--jsonl", "-",
                                    "--source", clip(folder, 5), "--hwaccel"});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.err, AllOf(Not(HasSubstr("warning")), Not(HasSubstr("libav"))))
      << "a machine without a webcam is no fault";
  EXPECT_THAT(result.out, HasSubstr("\"frame_index\":4"));
}

/// Runs `vcap run` on ten images; the records go to standard output.
Result run_part(const TemporaryFolder& folder, std::vector<std::string> arguments) {
  std::vector<std::string> words{"run", "--capsule", test::capsule("finder"),    "--jsonl",
                                 "-",   "--source",  images(folder, "shots", 10)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return test::vcap(words);
}

TEST(RunCommand, ReadsTheGivenPartOfItsSources) {
  const TemporaryFolder folder;
  const Result result =
      run_part(folder, {"--start", "0.08", "--end", "0.3", "--stride", "2", "--loop", "2"});
  EXPECT_EQ(result.exit_code, 0) << result;
  std::vector<std::int64_t> times;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line) && line.starts_with('{');)
    times.push_back(nlohmann::json::parse(line)["pts_ns"].get<std::int64_t>() / 1'000'000);
  EXPECT_THAT(times, testing::ElementsAre(80, 160, 240, 320, 400, 480));
}

struct WrongPart {
  std::vector<std::string> arguments;
  const char* named;
};

class RunCommandOnAWrongPart : public testing::TestWithParam<WrongPart> {};

TEST_P(RunCommandOnAWrongPart, NamesTheValue) {
  const TemporaryFolder folder;
  const Result result = run_part(folder, GetParam().arguments);
  EXPECT_EQ(result.exit_code, 2) << result;
  EXPECT_THAT(result.err, HasSubstr(GetParam().named));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, RunCommandOnAWrongPart,
    testing::Values(WrongPart{{"--start", "-1"}, "start of -1.0 s"},
                    WrongPart{{"--start", "nan"}, "--start NaN"},
                    WrongPart{{"--end", "1e300"}, "--end 1"},
                    WrongPart{{"--start", "2", "--end", "1.5"}, "end of 1.5 s"},
                    WrongPart{{"--stride", "0"}, "stride of 0"},
                    WrongPart{{"--loop", "-2"}, "loop of -2"},
                    WrongPart{{"--reconnect", "-1"}, "max_attempts -1"},
                    WrongPart{{"--silence-limit", "0"}, "silence_limit of 0 ms"},
                    WrongPart{{"--decoder-threads", "-1"}, "decoder_threads of -1"}));

}  // namespace
}  // namespace vcap
