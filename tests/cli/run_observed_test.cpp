// SPDX-License-Identifier: Apache-2.0
// Tests of vcap run --metrics, read while the capsule waits at a gate, and of vcap run --trace.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <regex>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/images.hpp"
#include "support/bounded_wait.hpp"
#include "support/http_get.hpp"
#include "support/http_receiver.hpp"

namespace vcap {
namespace {

using test::Command;
using test::HttpAnswer;
using test::Result;
using testing::HasSubstr;

class ObservedRun : public testing::Test {
 protected:
  ObservedRun() {
    if (::mkfifo(gate_.c_str(), 0600) != 0) throw std::runtime_error("no FIFO");
  }

  std::vector<std::string> arguments(const std::string& metrics) {
    return {"run",
            "--capsule",
            test::capsule("finder"),
            "--source",
            test::images(folder_, "shots", 5),
            "--config",
            R"(finder={"gate_at":3,"gate":")" + gate_ + "\"}",
            "--jsonl",
            "-",
            "--metrics",
            metrics};
  }

  const test::TemporaryFolder folder_;
  const std::string gate_ = (folder_ / "gate").string();
};

/// The port that the command tells; throws if it tells none.
std::uint16_t port_of_metrics(Command& command) {
  std::smatch found;
  if (!command.wait_for_err("/metrics\n")) throw std::runtime_error("no line about metrics");
  const std::string told = command.err();
  if (!std::regex_search(told, found, std::regex("http://127\\.0\\.0\\.1:(\\d+)/metrics")))
    throw std::runtime_error("no address in: " + told);
  return static_cast<std::uint16_t>(std::stoi(found[1]));
}

TEST_F(ObservedRun, ServesMetricsWhileItRuns) {
  Command command(arguments("0"));
  ASSERT_TRUE(command.wait_for_out("\"frame_index\":2"));
  const std::uint16_t port = port_of_metrics(command);
  const std::string all_read = "\nvcap_stream_frames_read_total{stream=\"shots\"} 5\n";
  HttpAnswer answer;
  do answer = test::http_get(port, "/metrics");
  while (answer.status == 200 && answer.body.find(all_read) == std::string::npos);
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr("\nvcap_capsule_failures_total{capsule=\"finder\""));

  std::ofstream(gate_).close();
  EXPECT_EQ(command.wait().exit_code, 0);
}

TEST_F(ObservedRun, BoundsTheCallsOfACapsuleAsToldTo) {
  std::vector<std::string> words = arguments("0");
  words.insert(words.end(), {"--max-calls", "finder=3"});
  Command command(words);
  const std::string text = test::http_get(port_of_metrics(command), "/metrics").body;
  EXPECT_THAT(text,
              testing::ContainsRegex("\nvcap_capsule_most_calls\\{capsule=\"finder\"[^}]*\\} 3\n"));
  std::ofstream(gate_).close();
  EXPECT_EQ(command.wait().exit_code, 0);
}

TEST_F(ObservedRun, BoundsTheConnectionsToItsMetricsAsToldTo) {
  for (const std::vector<std::string>& limit : {std::vector<std::string>{},
                                                {"--metrics-connections", "1"},
                                                {"--metrics-connections-per-address", "1"}}) {
    std::vector<std::string> words = arguments("0");
    words.insert(words.end(), limit.begin(), limit.end());
    Command command(words);
    const std::uint16_t port = port_of_metrics(command);
    const test::LoopbackConnection idle(port);
    EXPECT_EQ(test::http_get(port, "/metrics").status, 200);
    EXPECT_EQ(idle.is_closed(), !limit.empty()) << "the older connection makes room";
    std::ofstream(gate_).close();
    EXPECT_EQ(command.wait().exit_code, 0);
  }
}

/// The metric's value; 0 if the text does not contain it.
std::int64_t metric(const std::string& text, const std::string& name) {
  const std::size_t at = text.find("\n" + name + " ");
  return at == std::string::npos ? 0 : std::stoll(text.substr(at + name.size() + 2));
}

TEST_F(ObservedRun, CountsTheMessagesOfItsPublishers) {
  const test::HttpReceiver server;
  std::vector<std::string> words = arguments("0");
  for (const char* path : {"/hook?room=hidden", "/other"})
    words.insert(words.end(), {"--publish-frames", server.url(path)});
  words.insert(words.end(), {"--spool", (folder_ / "spool").string()});
  Command command(words, Command::Setup{.environment = {{"VCAP_PUBLISH_SECRET", "a secret"}}});
  const std::uint16_t port = port_of_metrics(command);
  std::string text;
  for (const char* number : {"", " (2)"}) {
    const std::string name = "vcap_publisher_messages_delivered_total{publisher=\"frames to " +
                             server.url("") + number + "\"}";
    test::yield_until("a message", [&] {
      text = test::http_get(port, "/metrics").body;
      return metric(text, name) > 0;
    });
  }
  EXPECT_THAT(text, testing::Not(HasSubstr("hidden")));
  EXPECT_THAT(text, testing::Not(HasSubstr("/other")));
  std::ofstream(gate_).close();
  EXPECT_EQ(command.wait().exit_code, 0);
}

TEST(ObservedOutput, DropsRecordsWithoutBlockingIfNobodyReadsThem) {
  const test::TemporaryFolder folder;
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  Command command(
      {"run", "--capsule", test::capsule("finder"), "--source", test::images(folder, "shots", 5),
       "--loop", "0", "--jsonl", "-", "--metrics", "0", "--when-output-slow", "drop"},
      Command::Setup{.standard_output = pipe});
  const std::uint16_t port = port_of_metrics(command);
  for (std::int64_t lost = 0, recorded = 0; lost < 100 || recorded < 1000;) {
    const std::string text = test::http_get(port, "/metrics").body;
    lost =
        metric(text, "vcap_sink_records_lost_total{stream=\"shots\",sink=\"1\",reason=\"full\"}");
    recorded = metric(text, "vcap_stream_frames_recorded_total{stream=\"shots\"}");
  }
  command.send(SIGINT);
  // The records that still wait are written.
  ASSERT_EQ(::fcntl(reader, F_SETFL, 0), 0);
  std::array<char, 65536> read{};
  while (::read(reader, read.data(), read.size()) > 0) {
  }
  ::close(reader);
  const Result result = command.wait();
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.err, HasSubstr("records lost to -: full "));
}

TEST(TracedRun, WritesATraceOfEachFrame) {
  const test::TemporaryFolder folder;
  const std::string path = (folder / "trace.json").string();
  const Result result = test::vcap({"run", "--capsule", test::capsule("finder"), "--source",
                                    test::images(folder, "shots", 5), "--trace", path});
  ASSERT_EQ(result.exit_code, 0) << result;
  std::ifstream file(path);
  const nlohmann::json events = nlohmann::json::parse(file).at("traceEvents");
  const auto count = [&events](const std::string& phase, const std::string& name) {
    return std::ranges::count_if(events, [&](const nlohmann::json& event) {
      return event.at("ph") == phase && event.at("name") == name;
    });
  };
  EXPECT_EQ(count("X", "read"), 5);
  EXPECT_EQ(count("X", "record"), 5);
  EXPECT_EQ(count("s", "frame"), 5);
  EXPECT_EQ(count("t", "frame"), 10) << "calls of the capsule and of the device";
  EXPECT_EQ(count("f", "frame"), 5);
}

TEST(TracedRun, FailsIfTheTraceCannotBeWritten) {
  const test::TemporaryFolder folder;
  const auto run = [&folder](const std::string& path) {
    return test::vcap({"run", "--capsule", test::capsule("finder"), "--source",
                       test::images(folder, "shots", 2), "--trace", path});
  };
  const Result nowhere = run((folder / "none/trace.json").string());
  EXPECT_EQ(nowhere.exit_code, 7) << nowhere;
  const Result full = run("/dev/full");
  EXPECT_EQ(full.exit_code, 7) << full;
  EXPECT_THAT(full.err, HasSubstr("No space left"));
  EXPECT_THAT(full.out, HasSubstr("2 in ")) << "all frames were recorded";
}

TEST_F(ObservedRun, FailsIfItCannotListenAtTheAddress) {
  const Result taken = test::vcap(arguments("192.0.2.1:9464"));  // reserved for documentation
  EXPECT_EQ(taken.exit_code, 7) << taken;
  EXPECT_THAT(taken.err, HasSubstr("cannot serve metrics at 192.0.2.1:9464"));
  EXPECT_EQ(taken.out, "");

  const Result wrong = test::vcap(arguments("everywhere"));
  EXPECT_EQ(wrong.exit_code, 2) << wrong;
  EXPECT_THAT(wrong.err, HasSubstr("everywhere"));
}

}  // namespace
}  // namespace vcap
