// SPDX-License-Identifier: Apache-2.0
// What is left of the outputs of a vcap run that is killed, or whose disk is full.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <opencv2/videoio.hpp>

#include "cli/command.hpp"
#include "cli/images.hpp"

namespace vcap::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kKeptFrames = 300;

class KeptRun : public testing::Test {
 protected:
  std::vector<std::string> arguments(const std::string& out, const std::string& clip) const {
    fs::create_directories(folder_ / out);
    return {"run",     "--capsule",          capsule("finder"), "--source",     source_,
            "--jsonl", path(out, "a.jsonl"), "--video",         path(out, clip)};
  }
  std::string path(const std::string& out, const std::string& name) const {
    return (folder_ / out / name).string();
  }
  /// What is there of an output: under its own name, or unfinished.
  static fs::path found(const std::string& path) {
    return fs::exists(path) ? fs::path(path) : fs::path(path + ".part");
  }

  const TemporaryFolder folder_;
  const std::string source_ = images(folder_, "shots", kKeptFrames);
};

/// Sorted.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::string text_of(const fs::path& path) { return fs::exists(path) ? read_file(path) : ""; }

/// The number of frames, if they are the first frames of the other clip.
int common_frames(const fs::path& clip, const fs::path& whole) {
  cv::VideoCapture one(clip.string());
  cv::VideoCapture other(whole.string());
  int frames = 0;
  for (cv::Mat a, b; one.read(a); ++frames) {
    EXPECT_TRUE(other.read(b)) << "the unfinished clip is longer";
    EXPECT_EQ(cv::norm(a, b, cv::NORM_INF), 0) << "frame " << frames;
  }
  return frames;
}

/// By default a few kills; tests/long.sh kills asks for more.
int wanted_kills() {
  const char* const wanted = std::getenv("VCAP_TEST_KILLS");
  return wanted != nullptr ? std::atoi(wanted) : 6;
}

TEST_F(KeptRun, HasAPrefixOfTheUndisturbedRunIfItIsKilledAtAnyMoment) {
  const std::vector<std::string> clips{"a.mp4", "a.mkv", "a.avi"};
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string& clip : clips)
    ASSERT_EQ(vcap(arguments("whole-" + clip, clip)).exit_code, 0);
  const auto time = (std::chrono::steady_clock::now() - begin) / static_cast<int>(clips.size());

  const auto seed = std::random_device()();
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> moment(0, 1.1);
  int unfinished = 0;
  const int kills = wanted_kills();
  for (int i = 0; i < kills; ++i) {
    const std::string& clip = clips[static_cast<std::size_t>(i) % clips.size()];
    const std::string out = "killed-" + std::to_string(i);
    const auto after = std::chrono::duration<double>(time) * moment(engine);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", kill " + std::to_string(i) + " after " +
                 std::to_string(after.count()) + " s, " + clip);
    Command command(arguments(out, clip));
    std::this_thread::sleep_for(after);
    command.send(SIGKILL);
    command.wait();

    const fs::path records = found(path(out, "a.jsonl"));
    const std::string kept = text_of(records);
    const std::string whole = read_file(path("whole-" + clip, "a.jsonl"));
    EXPECT_EQ(kept, whole.substr(0, kept.size()));
    EXPECT_LE(kept.size(), whole.size());
    if (records.extension() == ".part") ++unfinished;
    // Two frames may be in the encoder, 25 in a fragment, and 32 in flight behind the records.
    const fs::path video = found(path(out, clip));
    const auto lines = std::ranges::count(kept, '\n');
    if (lines > 60) {
      EXPECT_GE(common_frames(video, path("whole-" + clip, clip)), lines - 60);
    }
    // The other containers have fields that are set at the end.
    if (clip == "a.mp4") {
      EXPECT_TRUE(read_file(path("whole-" + clip, clip)).starts_with(text_of(video)));
    }
    fs::remove_all(folder_ / out);
  }
  if (kills >= 50) {
    EXPECT_GT(unfinished, kills / 10) << "the moments are not in the run";
  }
}

TEST_F(KeptRun, NamesWhatAKilledRunHasLeftAndKeepsIt) {
  const std::string gate = (folder_ / "gate").string();
  ASSERT_EQ(::mkfifo(gate.c_str(), 0600), 0);
  std::vector<std::string> words = arguments("out", "a.mp4");
  words.insert(words.end(), {"--config", R"(finder={"gate_at":100,"gate":")" + gate + "\"}",
                             "--summary", path("out", "a.txt")});
  Command command(words);
  await_files("the records before the gate", [&] {
    return std::ranges::count(text_of(path("out", "a.jsonl.part")), '\n') == 100;
  });

  const Result beside = vcap(arguments("out", "b.mp4"));
  EXPECT_EQ(beside.exit_code, 7) << "two runs must not write one file; " << beside;
  EXPECT_THAT(beside.err,
              AllOf(HasSubstr("is being written by another run"), HasSubstr("a.jsonl.part")));

  command.send(SIGKILL);
  command.wait();
  EXPECT_THAT(names_in(folder_ / "out"), ElementsAre("a.jsonl.part", "a.mp4.part", "a.txt.part"))
      << "nothing has a hidden name";
  const std::string left = text_of(path("out", "a.jsonl.part"));
  const Result next = vcap(arguments("out", "a.mp4"));

  EXPECT_EQ(next.exit_code, 0) << next;
  EXPECT_THAT(next.err, AllOf(HasSubstr("an earlier run did not finish it"),
                              HasSubstr(path("out", "a.jsonl.part.1")),
                              HasSubstr(path("out", "a.mp4.part.1")), HasSubstr("remove it")));
  EXPECT_EQ(text_of(path("out", "a.jsonl.part.1")), left);
  EXPECT_EQ(std::ranges::count(text_of(path("out", "a.jsonl")), '\n'), kKeptFrames);
  EXPECT_FALSE(fs::exists(path("out", "a.jsonl.part")));
}

TEST_F(KeptRun, DoesNotTakeTheNameOfWhatItReads) {
  const fs::path source = folder_ / "left.avi.part";
  ASSERT_EQ(vcap(arguments("whole", "a.avi")).exit_code, 0);
  fs::copy_file(path("whole", "a.avi"), source);
  const Result result = vcap({"run", "--capsule", capsule("finder"), "--source", source.string(),
                              "--video", (folder_ / "left.avi").string()});

  EXPECT_EQ(result.exit_code, 2) << result;
  EXPECT_THAT(result.err, HasSubstr("which is the source"));
  EXPECT_TRUE(fs::exists(source));
}

TEST_F(KeptRun, RefusesNamesThatDifferOnlyByTheEndOfUnfinishedOnes) {
  std::vector<std::string> words = arguments("out", "a.mp4");
  words.insert(words.end(), {"--trace", path("out", "a.jsonl.part")});
  const Result result = vcap(words);

  EXPECT_EQ(result.exit_code, 2) << result;
  EXPECT_THAT(result.err, HasSubstr("differ only by .part"));
}

TEST_F(KeptRun, KeepsWholeLinesOnAFullDiskAndSaysWhere) {
  ASSERT_EQ(vcap(arguments("whole", "a.mp4")).exit_code, 0);
  const std::string whole = read_file(path("whole", "a.jsonl"));
  const fs::path gate = folder_ / "gate";
  ASSERT_EQ(::mkfifo(gate.c_str(), 0600), 0);
  std::vector<std::string> words = arguments("out", "");
  words.resize(words.size() - 2);  // without a clip
  words.insert(words.end(),
               {"--config", R"(finder={"gate_at":100,"gate":")" + gate.string() + "\"}"});
  Command command(words);
  await_files("the records before the gate", [&] {
    return std::ranges::count(text_of(path("out", "a.jsonl.part")), '\n') == 100;
  });
  command.limit_file_size(whole.size() / 2);
  std::ofstream(gate).close();
  const Result result = command.wait();

  EXPECT_EQ(result.exit_code, 7) << result;
  EXPECT_THAT(result.err, AllOf(HasSubstr("free some space"),
                                HasSubstr("kept in " + path("out", "a.jsonl.part"))));
  EXPECT_FALSE(fs::exists(path("out", "a.jsonl")));
  const std::string kept = text_of(path("out", "a.jsonl.part"));
  ASSERT_FALSE(kept.empty());
  EXPECT_EQ(kept.back(), '\n');
  EXPECT_EQ(kept, whole.substr(0, kept.size()));
}

}  // namespace
}  // namespace vcap::test
