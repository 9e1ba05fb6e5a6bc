// SPDX-License-Identifier: Apache-2.0
// vcap run and signals. The capsule waits at a gate: when the signal comes, the run has started and
// cannot have ended by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include <opencv2/videoio.hpp>

#include "cli/command.hpp"
#include "cli/images.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using test::Command;
using test::Result;
using testing::HasSubstr;

constexpr int kFrames = 400;  // more than can be in flight

int frames_in_clip(const fs::path& path) {
  int frames = 0;
  cv::VideoCapture clip(path.string());
  for (cv::Mat frame; clip.read(frame);) ++frames;
  return frames;
}

class StoppedRun : public testing::TestWithParam<int> {
 protected:
  StoppedRun() {
    fs::create_directories(folder_ / "out");
    if (::mkfifo(gate_.c_str(), 0600) != 0) throw std::runtime_error("no FIFO");
  }

  std::vector<std::string> arguments() {
    return {"run",
            "--capsule",
            test::capsule("finder"),
            "--source",
            test::images(folder_, "shots", kFrames),
            "--config",
            R"(finder={"gate_at":3,"gate":")" + gate_ + "\"}",
            "--jsonl",
            "-",
            "--video",
            (folder_ / "out/clip.avi").string(),
            "--summary",
            (folder_ / "out/summary.txt").string()};
  }
  /// Signals within a second count as one, by the machine's clock.
  static void wait_for_another_signal() {
    std::this_thread::sleep_for(std::chrono::milliseconds(1050));
  }
  // Opening the gate is enough; writing would fail, since the reader closes it.
  void open_gate() { std::ofstream opened(gate_); }

  const test::TemporaryFolder folder_;
  const std::string gate_ = (folder_ / "gate").string();
};

TEST_P(StoppedRun, FinishesItsFilesAndSucceeds) {
  Command command(arguments());
  ASSERT_TRUE(command.wait_for_out("\"frame_index\":2"));

  command.send(GetParam());
  ASSERT_TRUE(command.wait_for_err("vcap: stopping"));
  open_gate();
  const Result result = command.wait();

  EXPECT_EQ(result.exit_code, 0) << result;
  const auto records = std::count(result.out.begin(), result.out.end(), '\n');
  EXPECT_GE(records, 3);
  EXPECT_LT(records, kFrames);
  EXPECT_EQ(result.out.back(), '\n');
  EXPECT_EQ(frames_in_clip(folder_ / "out/clip.avi"), records);
  EXPECT_THAT(test::read_file(folder_ / "out/summary.txt"),
              HasSubstr("stopped before the sources had ended"));
}

TEST_P(StoppedRun, TakesSignalsOfOneMomentAsOne) {
  Command command(arguments());
  ASSERT_TRUE(command.wait_for_out("\"frame_index\":2"));

  for (int i = 0; i < 3; ++i) {
    command.send(GetParam());
    // Otherwise the kernel may merge them: a signal that is pending already is not added.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ASSERT_TRUE(command.wait_for_err("vcap: stopping"));
  open_gate();
  const Result result = command.wait();

  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_TRUE(fs::exists(folder_ / "out/clip.avi"));
  EXPECT_TRUE(fs::exists(folder_ / "out/summary.txt"));
}

TEST_P(StoppedRun, GivesUpCallsAtASecondSignalAndFinishesItsFiles) {
  std::vector<std::string> words = arguments();
  words.insert(words.end(), {"--grace", "600"});
  Command command(words);
  ASSERT_TRUE(command.wait_for_out("\"frame_index\":2"));

  command.send(GetParam());
  ASSERT_TRUE(command.wait_for_err("vcap: stopping"));
  wait_for_another_signal();
  command.send(GetParam());
  const Result result = command.wait();

  EXPECT_EQ(result.exit_code, 9) << result;
  EXPECT_THAT(result.err, HasSubstr("capsule finder"));
  const auto records = std::count(result.out.begin(), result.out.end(), '\n');
  EXPECT_GE(records, 4);
  EXPECT_EQ(frames_in_clip(folder_ / "out/clip.avi"), records);
  EXPECT_THAT(test::read_file(folder_ / "out/summary.txt"),
              HasSubstr("stopped before the sources had ended"));
}

TEST_P(StoppedRun, LeavesUnfinishedFilesAtAThirdSignalAndNamesThem) {
  // Its state never ends, so nothing but a third signal ends the run soon.
  std::vector<std::string> words = arguments();
  words[2] = test::capsule("misbehaver_stateful");
  words[6] = R"(misbehaver_stateful={"hang":"state"})";
  words.insert(words.end(), {"--grace", "600", "--max-frames", "5"});
  Command command(words);
  ASSERT_TRUE(command.wait_for_out("\"frame_index\":4"));

  command.send(GetParam());
  ASSERT_TRUE(command.wait_for_err("vcap: stopping"));
  for (int i = 0; i < 2; ++i) {
    wait_for_another_signal();
    command.send(GetParam());
  }
  const Result result = command.wait();

  EXPECT_EQ(result.exit_code, 130) << result;
  EXPECT_THAT(result.err, HasSubstr("clip.avi.part"));
  EXPECT_FALSE(fs::exists(folder_ / "out/clip.avi"));
  EXPECT_TRUE(fs::exists(folder_ / "out/clip.avi.part"));
}

INSTANTIATE_TEST_SUITE_P(RunCommand, StoppedRun, testing::Values(SIGINT, SIGTERM),
                         [](const auto& test_info) {
                           return test_info.param == SIGINT ? "CtrlC" : "Sigterm";
                         });

class KilledRun : public testing::TestWithParam<const char*> {};

TEST_P(KilledRun, LeavesAClipThatLacksOnlyItsLastSecond) {
  const test::TemporaryFolder folder;
  fs::create_directories(folder / "out");
  const std::string gate = (folder / "gate").string();
  ASSERT_EQ(::mkfifo(gate.c_str(), 0600), 0);
  Command command({"run", "--capsule", test::capsule("finder"), "--source",
                   test::images(folder, "shots", 320), "--config",
                   R"(finder={"gate_at":300,"gate":")" + gate + "\"}", "--jsonl", "-", "--video",
                   (folder / "out" / GetParam()).string()});
  // Its record is written before its picture.
  ASSERT_TRUE(command.wait_for_out("\"frame_index\":299"));

  command.send(SIGKILL);
  EXPECT_EQ(command.wait().exit_code, 128 + SIGKILL);

  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(folder / "out"))
    left.push_back(entry.path().filename().string());
  const std::string part = std::string(GetParam()) + ".part";
  ASSERT_THAT(left, testing::ElementsAre(part));
  // Images are 40 ms apart, and two of the 299 may still have been in the encoder.
  EXPECT_GE(frames_in_clip(folder / "out" / part), 299 - 25 - 2);
}

INSTANTIATE_TEST_SUITE_P(RunCommand, KilledRun, testing::Values("clip.mp4", "clip.mkv", "clip.avi"),
                         [](const auto& test_info) {
                           return std::string(test_info.param).substr(5);
                         });

}  // namespace
}  // namespace vcap
