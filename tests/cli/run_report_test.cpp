// SPDX-License-Identifier: Apache-2.0
// vcap run --report, events in reports, and reports of jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <opencv2/videoio.hpp>

#include "cli/command.hpp"
#include "cli/images.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A person who stays in the picture for 0.2 s, which is five images.
constexpr const char* kStayRule = R"({"schema": "vcap.event-rules/1",
  "rules": [{"name": "stays <long>", "kind": "stay", "at_least": 0.2}]})";

class RunReportCommand : public testing::Test {
 protected:
  std::vector<std::string> arguments(const std::string& source,
                                     std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"run",  capsule("finder"), capsule("follower"),
                                   source, "--report",        out_};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  const TemporaryFolder folder_;
  const std::string out_ = (folder_ / "report.html").string();
  const std::string log_ = (folder_ / "events.jsonl").string();
  const std::string rules_ = folder_.write("rules.json", kStayRule).string();
};

TEST_F(RunReportCommand, SaysWhatRanAndWhatWasFound) {
  const Result result = vcap(arguments(images(folder_, "shots", 12)));
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(
      read_file(out_),
      AllOf(HasSubstr("<h2>What ran</h2>"), HasSubstr(">finder</td>"), HasSubstr(">follower</td>"),
            HasSubstr("1. finder"), HasSubstr("<h2>shots</h2>"),
            HasSubstr("<td>person</td><td class=\"number\">12</td>"), HasSubstr("<h3>Tracks</h3>"),
            HasSubstr("data:image/jpeg;base64,"), HasSubstr("href=\"./shots#t=0.0\"")));
}

TEST_F(RunReportCommand, ShowsOnlyTheEventsOfItsRun) {
  const std::vector<std::string> words =
      arguments(images(folder_, "shots", 20), {"--events", rules_, "--event-log", log_});
  for (int round = 0; round < 2; ++round) {
    const Result result = vcap(words);
    EXPECT_EQ(result.exit_code, 0) << result;
    EXPECT_THAT(read_file(out_), AllOf(HasSubstr("<td>stays &lt;long&gt;</td><td>stay</td>"),
                                       HasSubstr("2 lines of events")));
  }
}

TEST_F(RunReportCommand, IsWrittenAlsoIfTheRunIsStopped) {
  const std::string gate = (folder_ / "gate").string();
  ASSERT_EQ(::mkfifo(gate.c_str(), 0600), 0);
  Command command(
      arguments(images(folder_, "shots", 200),
                {"--jsonl", "-", "--config", R"(finder={"gate_at":3,"gate":")" + gate + "\"}"}));
  ASSERT_TRUE(command.wait_for_out("\"frame_index\":2"));
  EXPECT_FALSE(std::filesystem::exists(out_));
  command.send(SIGTERM);
  ASSERT_TRUE(command.wait_for_err("vcap: stopping"));
  { std::ofstream opened(gate); }  // writing would fail, since the reader closes it
  const Result result = command.wait();
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(read_file(out_), HasSubstr("stopped before the sources had ended"));
}

TEST_F(RunReportCommand, RefusesToReplaceASourceOrAnotherOutput) {
  const std::string source = images(folder_, "shots", 2);
  const Result result = vcap(arguments(source, {"--jsonl", out_}));
  EXPECT_EQ(result.exit_code, 2) << result;
  EXPECT_THAT(result.err, HasSubstr("given twice"));
}

TEST_F(RunReportCommand, LeavesNoReportIfNothingRan) {
  const Result result = vcap(arguments((folder_ / "none.mp4").string()));
  EXPECT_EQ(result.exit_code, 6) << result;
  EXPECT_FALSE(std::filesystem::exists(out_));
  EXPECT_FALSE(std::filesystem::exists(out_ + ".part"));
}

TEST_F(RunReportCommand, AndAReportOfItsRecordsShowTheSameEvents) {
  const std::string records = (folder_ / "frames.jsonl").string();
  const Result run = vcap(arguments(images(folder_, "shots", 20),
                                    {"--jsonl", records, "--events", rules_, "--event-log", log_}));
  EXPECT_EQ(run.exit_code, 0) << run;
  std::ofstream(log_, std::ios::app) << "no record\n"
                                     << R"({"torn)";
  const std::string later = (folder_ / "later.html").string();
  const Result result = vcap({"report", records, "--events", log_, "--out", later});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.err, HasSubstr("1 line left out"));
  const std::string html = read_file(later);
  EXPECT_THAT(html, AllOf(HasSubstr("<h3>Events</h3>"), HasSubstr("stays &lt;long&gt;"),
                          Not(HasSubstr("What ran"))));
}

TEST_F(RunReportCommand, OfAJobIsMadeFromItsFolder) {
  const std::string job = (folder_ / "job").string();
  std::vector<std::string> words{"run", capsule("finder"), "--out", job};
  for (const auto& [name, frames] : {std::pair("north.avi", 3), std::pair("south.avi", 4)}) {
    words.push_back((folder_ / name).string());
    cv::VideoWriter clip(words.back(), cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), 25, {64, 48});
    for (int i = 0; i < frames; ++i) clip.write(cv::Mat(48, 64, CV_8UC3, cv::Scalar::all(90)));
  }
  const Result run = vcap(words);
  EXPECT_EQ(run.exit_code, 0) << run;
  const Result result = vcap({"report", job, "--out", out_});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(read_file(out_), AllOf(HasSubstr("7 records of 2 streams"),
                                     HasSubstr("<h2>north</h2>"), HasSubstr("<h2>south</h2>")));
}

}  // namespace
}  // namespace vcap::test
