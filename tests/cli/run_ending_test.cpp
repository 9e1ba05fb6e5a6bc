// SPDX-License-Identifier: Apache-2.0
// How vcap run ends if a capsule hangs, ends the process or takes away its files.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <opencv2/videoio.hpp>

#include "cli/command.hpp"
#include "cli/images.hpp"

namespace vcap::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// 0 if there is no such file.
std::ptrdiff_t lines_in(const fs::path& path) {
  return fs::exists(path) ? std::ranges::count(read_file(path), '\n') : 0;
}

class EndingRun : public testing::Test {
 protected:
  EndingRun() { fs::create_directories(out_); }

  /// A run of a capsule that misbehaves as `config` says, over `frames` images.
  std::vector<std::string> arguments(const nlohmann::json& config, int frames = 12,
                                     const std::string& name = "misbehaver") const {
    return {"run",
            "--capsule",
            capsule(name),
            "--source",
            images(folder_, "shots", frames),
            "--config",
            name + "=" + config.dump(),
            "--jsonl",
            (out_ / "a.jsonl").string(),
            "--video",
            (out_ / "a.avi").string(),
            "--grace",
            "0.3"};
  }
  std::vector<nlohmann::json> records(const std::string& file = "a.jsonl") const {
    std::istringstream lines(read_file(out_ / file));
    std::vector<nlohmann::json> records;
    for (std::string line; std::getline(lines, line);)
      records.push_back(nlohmann::json::parse(line));
    return records;
  }
  std::size_t clip_frames() const {
    cv::VideoCapture clip((out_ / "a.avi").string());
    std::size_t frames = 0;
    for (cv::Mat frame; clip.read(frame);) ++frames;
    return frames;
  }
  std::vector<std::string> out_names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(out_))
      names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
  /// Writes a folder with one clip, yard.avi, as the source of a job. Gives its path.
  std::string write_clips(int frames) const {
    fs::create_directories(folder_ / "clips");
    cv::VideoWriter clip((folder_ / "clips/yard.avi").string(),
                         cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), 25, {64, 48});
    for (int i = 0; i < frames; ++i)
      clip.write(cv::Mat(48, 64, CV_8UC3, cv::Scalar::all(10 * i % 256)));
    return (folder_ / "clips").string();
  }
  void expect_whole_outputs(std::size_t frames) const {
    EXPECT_THAT(out_names(), ElementsAre("a.avi", "a.jsonl"));
    EXPECT_EQ(records().size(), frames);
    EXPECT_EQ(clip_frames(), frames);
  }

  const TemporaryFolder folder_;
  const fs::path out_ = folder_ / "out";
};

/// Stops a run at its fourth frame, whose call hangs. The deadline is longer than the test.
Result stopped_in_a_hang(std::vector<std::string> words, const std::string& deadline) {
  words.insert(words.end(), {"--deadline", deadline});
  Command command(words);
  // The other records are written once the fourth is.
  await_files("three records", [&] { return lines_in(words[8] + ".part") >= 3; });
  command.send(SIGTERM);
  return command.wait();
}

class HangInACall : public EndingRun, public testing::WithParamInterface<const char*> {};

TEST_P(HangInACall, IsGivenUpAndTheFramesAfterItAreWritten) {
  const Result result = stopped_in_a_hang(arguments({{"hang", "process_frame"}}, 400), GetParam());

  EXPECT_EQ(result.exit_code, 9) << result;
  EXPECT_THAT(result.err, AllOf(HasSubstr("frame 3: capsule misbehaver"),
                                HasSubstr("had not returned when the run was ended")));
  const std::vector<nlohmann::json> all = records();
  ASSERT_GT(all.size(), 5u);
  expect_whole_outputs(all.size());
  EXPECT_EQ(all[3]["errors"].at(0)["code"], "deadline_exceeded");
  EXPECT_EQ(all[4]["objects"].size(), 1u) << "its call had returned";
}

TEST_P(HangInACall, OfAStatefulCapsuleIsGivenUp) {
  const Result result = stopped_in_a_hang(
      arguments({{"hang", "process_frame"}}, 400, "misbehaver_stateful"), GetParam());

  EXPECT_EQ(result.exit_code, 9) << result;
  EXPECT_GT(records().size(), 4u);
  expect_whole_outputs(records().size());
}

INSTANTIATE_TEST_SUITE_P(RunCommand, HangInACall, testing::Values("30", "none"),
                         [](const auto& test_info) {
                           return std::string(test_info.param) == "none" ? "WithoutADeadline"
                                                                         : "BeforeTheDeadline";
                         });

TEST_F(EndingRun, LeavesAStreamWhoseStateDoesNotEnd) {
  Command command(arguments({{"hang", "state"}}, 12, "misbehaver_stateful"));
  await_files("all records", [&] { return lines_in(out_ / "a.jsonl.part") == 12; });
  command.send(SIGTERM);
  const Result result = command.wait();

  EXPECT_EQ(result.exit_code, 9) << result;
  EXPECT_THAT(result.err, AllOf(HasSubstr("these streams do not end: shots"),
                                HasSubstr("The outputs have the records so far")));
  EXPECT_THAT(result.out, HasSubstr("after 12 records"));
  EXPECT_EQ(records().size(), 12u);
}

TEST_F(EndingRun, LeavesACapsuleThatHangsWhileItIsLoaded) {
  Command command(arguments({{"hang", "load_backend"}}));
  await_files("an output", [&] { return fs::exists(out_ / "a.jsonl.part"); });
  command.send(SIGTERM);
  const Result result = command.wait();

  EXPECT_EQ(result.exit_code, 9) << result;
  EXPECT_THAT(result.err, HasSubstr("loading capsule misbehaver does not end"));
  EXPECT_THAT(out_names(), IsEmpty());
}

TEST_F(EndingRun, LeavesACapsuleThatHangsWhenAStreamBegins) {
  Command command(arguments({{"hang", "new_state"}}, 12, "misbehaver_stateful"));
  ASSERT_TRUE(command.wait_for_err("a new state hangs"));
  command.send(SIGTERM);
  const Result result = command.wait();

  EXPECT_EQ(result.exit_code, 9) << result;
  EXPECT_THAT(result.err, HasSubstr("capsule misbehaver_stateful version 1 (step 1 of 1) had not "
                                    "returned when the run was ended"));
}

TEST_F(EndingRun, LeavesASourceThatHangsWhileItIsOpened) {
  const fs::path source = folder_ / "shots.avi";
  ASSERT_EQ(::mkfifo(source.c_str(), 0600), 0);
  std::vector<std::string> words = arguments(nlohmann::json::object());
  words[4] = source.string();
  Command command(words);
  int writer = -1;  // cannot be opened before the command opens the FIFO
  await_files("a reader", [&] {
    return (writer = ::open(source.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) >= 0;
  });
  command.send(SIGTERM);
  const Result result = command.wait();
  ::close(writer);

  EXPECT_EQ(result.exit_code, 9) << result;
  EXPECT_THAT(result.err, HasSubstr("opening the sources does not end"));
  EXPECT_THAT(out_names(), IsEmpty());
}

TEST_F(EndingRun, SaysWhatFailedBeforeItClosesACapsuleThatHangs) {
  std::vector<std::string> words = arguments({{"hang", "close"}});
  words[4] = (folder_ / "missing.avi").string();
  const Result result = vcap(words);

  EXPECT_EQ(result.exit_code, 9) << result;
  EXPECT_THAT(result.err, AllOf(HasSubstr("missing.avi"),
                                HasSubstr("closing capsule misbehaver has not returned")));
  EXPECT_THAT(out_names(), IsEmpty());
}

class HangWhileClosing : public EndingRun, public testing::WithParamInterface<const char*> {};

TEST_P(HangWhileClosing, IsNamedAndLeft) {
  const Result result = vcap(arguments({{"hang", GetParam()}}));

  EXPECT_EQ(result.exit_code, 9) << result;
  EXPECT_THAT(result.err, HasSubstr(std::string(GetParam()) == "static"
                                        ? "static objects of capsules"
                                        : "closing capsule misbehaver has not returned within 1"));
  EXPECT_THAT(result.out, HasSubstr("  frames           12 in "));
  expect_whole_outputs(12);
}

INSTANTIATE_TEST_SUITE_P(RunCommand, HangWhileClosing,
                         testing::Values("close", "backend", "static"),
                         [](const auto& test_info) { return std::string(test_info.param); });

class ForeignExit : public EndingRun, public testing::WithParamInterface<const char*> {};

TEST_P(ForeignExit, OfACallIsNoSuccessAndKeepsTheRecords) {
  const Result result = vcap(arguments({{"exit", GetParam()}}, 400));

  EXPECT_EQ(result.exit_code, 10) << result;
  EXPECT_THAT(result.err, HasSubstr("capsule misbehaver ended the process by " +
                                    std::string(GetParam()) + "()"));
  const std::vector<nlohmann::json> all = records();
  ASSERT_GE(all.size(), 4u);
  EXPECT_EQ(all[2]["objects"].size(), 1u);
  EXPECT_EQ(all[3]["errors"].at(0)["capsule"], "misbehaver");
  expect_whole_outputs(all.size());
}

TEST_P(ForeignExit, WhileACapsuleIsLoadedLeavesNoOutput) {
  const Result result = vcap(arguments({{"exit", GetParam()}, {"in", "load_backend"}}));

  EXPECT_EQ(result.exit_code, 10) << result;
  EXPECT_THAT(result.err, HasSubstr("capsule misbehaver ended the process by " +
                                    std::string(GetParam()) + "()"));
  EXPECT_THAT(out_names(), IsEmpty());
}

TEST_P(ForeignExit, WhileACapsuleIsClosedKeepsTheOutputs) {
  const Result result = vcap(arguments({{"exit", GetParam()}, {"in", "close"}}));

  EXPECT_EQ(result.exit_code, 10) << result;
  EXPECT_THAT(result.err, HasSubstr("capsule misbehaver ended the process"));
  expect_whole_outputs(12);
}

TEST_P(ForeignExit, OfAThreadOfACapsuleIsNoSuccessAndKeepsTheRecords) {
  const Result result = vcap(arguments({{"exit", GetParam()}, {"in", "thread"}}, 400));

  EXPECT_EQ(result.exit_code, 10) << result;
  EXPECT_THAT(result.err, HasSubstr("code in this process, such as a capsule's or a library's, "
                                    "ended the process by " +
                                    std::string(GetParam()) + "()"));
  ASSERT_GT(records().size(), 4u);
  expect_whole_outputs(records().size());
}

TEST_P(ForeignExit, OfACallIsNoSuccessOfCheckState) {
  const nlohmann::json config = {{"exit", GetParam()}};
  const Result result =
      vcap({"check-state", capsule("misbehaver"), "--source", images(folder_, "shots", 12),
            "--config", "misbehaver=" + config.dump()});

  EXPECT_EQ(result.exit_code, 10) << result;
  EXPECT_THAT(result.err, HasSubstr("capsule misbehaver ended the process by " +
                                    std::string(GetParam()) + "()"));
}

TEST_P(ForeignExit, OfACallIsNoSuccessOfAJob) {
  const std::string clips = write_clips(50);
  const nlohmann::json config = {{"exit", GetParam()}};
  const nlohmann::json job = {{"schema", "vcap.job/1"},
                              {"capsules", {{{"path", capsule("misbehaver")}, {"config", config}}}},
                              {"sources", {"clips/"}},
                              {"outputs", {{"folder", "by_file"}}}};
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"run", "--job", folder_.write("job.json", job.dump()).string()},
           {"run", "--out", (folder_ / "by_words").string(), "--capsule", capsule("misbehaver"),
            "--source", clips, "--config", "misbehaver=" + config.dump()}}) {
    const Result result = vcap(words);
    EXPECT_EQ(result.exit_code, 10) << result;
    EXPECT_THAT(result.err, HasSubstr("capsule misbehaver ended the process by " +
                                      std::string(GetParam()) + "()"));
  }
  for (const char* const out : {"by_file", "by_words"}) {
    EXPECT_TRUE(fs::exists(folder_ / out / ".vcap-job")) << out;
    EXPECT_FALSE(fs::exists(folder_ / out / "yard.jsonl")) << out << ": the video is not done";
  }
}

TEST_P(ForeignExit, WhileACapsuleOfAJobIsClosedKeepsTheOutputs) {
  const nlohmann::json config = {{"exit", GetParam()}, {"in", "close"}};
  const Result result =
      vcap({"run", "--out", out_.string(), "--capsule", capsule("misbehaver"), "--source",
            write_clips(12), "--config", "misbehaver=" + config.dump()});

  EXPECT_EQ(result.exit_code, 10) << result;
  EXPECT_EQ(records("yard.jsonl").size(), 12u);
}

INSTANTIATE_TEST_SUITE_P(RunCommand, ForeignExit,
                         testing::Values("exit", "quick_exit", "_exit", "_Exit"),
                         [](const auto& test_info) {
                           const std::string how = test_info.param;
                           return how == "_exit"            ? "UnderscoreExit"
                                  : how == "_Exit"          ? "CapitalExit"
                                  : how.substr(0, 1) == "q" ? "QuickExit"
                                                            : "Exit";
                         });

TEST_F(EndingRun, IsNoSuccessIfAStaticObjectOfACapsuleEndsTheProcess) {
  for (const char* const how : {"_exit", "_Exit"}) {
    const Result result = vcap(arguments({{"exit", how}, {"in", "static"}}));
    EXPECT_EQ(result.exit_code, 10) << how << ": " << result;
    EXPECT_THAT(result.err, HasSubstr("ended the process while it was ending"));
    expect_whole_outputs(12);
  }
}

TEST_F(EndingRun, LetsAChildOfACapsuleEndAsItWants) {
  const Result result = vcap(arguments({{"exit", "fork"}}));

  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_EQ(records().at(3).count("errors"), 0u);
  expect_whole_outputs(12);
}

class FolderChange : public EndingRun, public testing::WithParamInterface<const char*> {};

TEST_P(FolderChange, OfACapsuleMovesNoOutput) {
  const TemporaryFolder elsewhere;
  std::vector<std::string> words =
      arguments({{"chdir", elsewhere.path().string()}, {"at", 0}, {"in", GetParam()}}, 40);
  for (std::string& word : words)
    if (word.starts_with(out_.string())) word = fs::relative(word).string();
  const Result result = vcap(words);

  EXPECT_EQ(result.exit_code, 0) << result;
  expect_whole_outputs(40);
  EXPECT_THAT(elsewhere.names(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(RunCommand, FolderChange, testing::Values("load_backend", "process_frame"),
                         [](const auto& test_info) {
                           return std::string(test_info.param) == "load_backend" ? "Loaded"
                                                                                 : "Running";
                         });

TEST_F(EndingRun, EndsIfACapsuleClosesAllDescriptorsButTheStandardOnes) {
  const Result result = vcap(arguments({{"close_descriptors", 3}, {"at", 100}}, 400));

  EXPECT_EQ(result.exit_code, 7) << result;
  EXPECT_THAT(result.err, HasSubstr("was closed by other code in this process"));
  EXPECT_FALSE(fs::exists(out_ / "a.jsonl"));
  EXPECT_FALSE(records("a.jsonl.part").empty()) << "what was written stays";
}

TEST_F(EndingRun, IsNoSuccessIfACapsuleClosesTheStandardDescriptorsToo) {
  // It cannot say why it ends.
  const Result result = vcap(arguments({{"close_descriptors", 0}, {"at", 100}}, 400));

  EXPECT_NE(result.exit_code, 0) << result;
  EXPECT_LT(result.exit_code, 128) << "no signal ended it";
  EXPECT_FALSE(fs::exists(out_ / "a.jsonl"));
  EXPECT_FALSE(records("a.jsonl.part").empty()) << "what was written stays, in whole lines";
}

TEST_F(EndingRun, RefusesAGraceThatIsNoTime) {
  for (const char* grace : {"-1", "soon", "1e9"}) {
    std::vector<std::string> words = arguments(nlohmann::json::object());
    words.back() = grace;
    const Result result = vcap(words);
    EXPECT_EQ(result.exit_code, 2) << result;
    EXPECT_THAT(result.err, HasSubstr("--grace"));
  }
}

}  // namespace
}  // namespace vcap::test
