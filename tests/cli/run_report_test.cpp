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

class JobReportCommand : public RunReportCommand {
 protected:
  JobReportCommand() {
    for (const auto& [name, frames] : {std::pair("north.avi", 3), std::pair("south.avi", 4)}) {
      cv::VideoWriter clip((folder_ / name).string(), cv::VideoWriter::fourcc('M', 'J', 'P', 'G'),
                           25, {64, 48});
      for (int i = 0; i < frames; ++i) clip.write(cv::Mat(48, 64, CV_8UC3, cv::Scalar::all(90)));
    }
  }
  Result run_job(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"run",
                                   capsule("finder"),
                                   capsule("follower"),
                                   "--out",
                                   job_,
                                   (folder_ / "north.avi").string(),
                                   (folder_ / "south.avi").string()};
    words.insert(words.end(), more.begin(), more.end());
    return vcap(words);
  }

  const std::string job_ = (folder_ / "job").string();
};

TEST_F(JobReportCommand, IsMadeFromItsFolder) {
  const Result run = run_job();
  EXPECT_EQ(run.exit_code, 0) << run;
  const Result result = vcap({"report", job_, "--out", out_});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(read_file(out_), AllOf(HasSubstr("7 records of 2 streams"),
                                     HasSubstr("<h2>north</h2>"), HasSubstr("<h2>south</h2>")));
  const Result converted = vcap({"convert", job_, "--to", "csv", "--out", "-"});
  EXPECT_EQ(converted.exit_code, 0) << converted;
  EXPECT_THAT(converted.out, AllOf(HasSubstr("\nnorth,"), HasSubstr("\nsouth,")));
}

TEST_F(JobReportCommand, IsWrittenWhenAllVideosAreDone) {
  for (const char* const videos : {"2 done, 0 done before", "0 done, 2 done before"}) {
    const Result run = run_job({"--report", out_});
    EXPECT_EQ(run.exit_code, 0) << run;
    EXPECT_THAT(run.out, HasSubstr("report written to " + out_));
    EXPECT_THAT(read_file(out_),
                AllOf(HasSubstr("<h2>What ran</h2>"), HasSubstr(">finder</td>"),
                      HasSubstr("threshold = 0.5"), HasSubstr("1. finder"), HasSubstr(videos),
                      HasSubstr("7 records of 2 streams"), HasSubstr("<h2>south</h2>"),
                      HasSubstr("data:image/jpeg;base64,"), HasSubstr("href=\"./north.avi#t=")));
    std::filesystem::remove(out_);
  }
}

TEST_F(JobReportCommand, NamesVideosThatHaveFailed) {
  folder_.write("north.avi", "no video");
  const Result run = run_job({"--report", out_});
  EXPECT_EQ(run.exit_code, 1) << run;
  EXPECT_THAT(read_file(out_),
              AllOf(HasSubstr("1 done, 0 done before, 1 failed"), HasSubstr("ended early: "),
                    HasSubstr("4 records of 1 stream"), Not(HasSubstr("<h2>north</h2>"))));
}

TEST_F(JobReportCommand, IsRefusedBeforeTheJobBegins) {
  const auto expect_refused = [this](const std::string& path, int code, const std::string& why) {
    const Result run = run_job({"--report", path});
    EXPECT_EQ(run.exit_code, code) << run;
    EXPECT_THAT(run.err, HasSubstr(why));
    EXPECT_FALSE(std::filesystem::exists(job_));
  };
  expect_refused((folder_ / "lost/report.html").string(), 7, "there is no folder");
  expect_refused((folder_ / "north.avi").string(), 2, "would replace the video north");
  expect_refused(job_ + "/north.jsonl", 2, "would replace the records of video north");
  const std::string job = folder_.write(
      "job.json", R"({"schema": "vcap.job/1", "capsules": [{"path": ")" + capsule("finder") +
                      R"("}], "sources": [{"source": "north.avi"}],
      "outputs": {"folder": "job", "jsonl": false, "video": true}})");
  const Result no_records = vcap({"run", "--job", job, "--report", out_});
  EXPECT_EQ(no_records.exit_code, 2) << no_records;
  EXPECT_THAT(no_records.err, HasSubstr("set \"jsonl\" of its outputs to true"));
}

}  // namespace
}  // namespace vcap::test
