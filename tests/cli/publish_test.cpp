// SPDX-License-Identifier: Apache-2.0
// vcap run --publish and --publish-frames.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/images.hpp"
#include "support/http_receiver.hpp"
#include "support/loopback_port.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using Json = nlohmann::json;

constexpr const char* kPublishedRules = R"({"schema": "vcap.event-rules/1",
  "rules": [{"name": "stays", "kind": "stay", "at_least": 0.2}]})";

class PublishRun : public testing::Test {
 protected:
  std::vector<std::string> arguments(std::vector<std::string> more) const {
    std::vector<std::string> words{
        "run",      "--capsule", capsule("finder"), "--capsule", capsule("follower"),
        "--source", source_,     "--events",        rules_,      "--event-log",
        journal_};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::vector<std::string> publishing(const HttpReceiver& server) const {
    return arguments({"--publish", server.url(), "--spool", spool_});
  }
  std::vector<Json> journal() const {
    std::vector<Json> records;
    std::ifstream file(journal_);
    for (std::string line; std::getline(file, line);) records.push_back(Json::parse(line));
    return records;
  }
  /// What a reader has that takes each message once.
  static std::vector<Json> received(const HttpReceiver& server) {
    std::vector<Json> records;
    std::uint64_t last = 0;
    for (const auto& request : server.requests()) {
      Json record = Json::parse(request.body);
      const std::uint64_t sequence = record.at("message").at("sequence");
      if (sequence <= last) continue;
      EXPECT_EQ(sequence, last + 1);
      last = sequence;
      record.erase("message");
      records.push_back(std::move(record));
    }
    return records;
  }

  const TemporaryFolder folder_;
  const std::string source_ = images(folder_, "shots", 20);
  const std::string rules_ = folder_.write("rules.json", kPublishedRules).string();
  const std::string journal_ = (folder_ / "events.jsonl").string();
  const std::string spool_ = (folder_ / "spool").string();
  const Command::Environment secret_{{"VCAP_PUBLISH_SECRET", "a secret"}};
};

TEST_F(PublishRun, SendsTheEventsOfTheJournal) {
  HttpReceiver server;
  for (int run = 0; run < 2; ++run) {
    const Result result = vcap(publishing(server), secret_);
    ASSERT_EQ(result.exit_code, 0) << result;
    EXPECT_THAT(result.out, HasSubstr("messages to " + server.url() + ": 2 delivered\n"));
  }
  EXPECT_THAT(journal(), SizeIs(4));
  EXPECT_EQ(received(server), journal());
}

TEST_F(PublishRun, KeepsForTheNextRunWhatIsNotDelivered) {
  std::atomic<unsigned> status = 503;
  HttpReceiver server([&](const auto&) { return HttpReceiver::Answer{status}; });
  const Result first = vcap(publishing(server), secret_);
  EXPECT_EQ(first.exit_code, 0) << first;
  EXPECT_THAT(first.out, AllOf(HasSubstr("0 delivered, 2 not sent, which stay in the spool"),
                               HasSubstr("the server answered 503")));
  status = 200;
  const Result second = vcap(publishing(server), secret_);
  EXPECT_EQ(second.exit_code, 0) << second;
  EXPECT_THAT(second.out, HasSubstr("4 delivered\n"));
  EXPECT_EQ(received(server), journal());
}

TEST_F(PublishRun, SendsTheEndOfWhatAKilledRunLeftOpen) {
  HttpReceiver server;
  const std::string gate = (folder_ / "gate").string();
  ASSERT_EQ(::mkfifo(gate.c_str(), 0600), 0);
  {
    std::vector<std::string> words = publishing(server);
    words.insert(words.end(), {"--config", R"(finder={"gate_at":10,"gate":")" + gate + "\"}"});
    Command command(words, {.environment = secret_});
    await_files("the begin of the event", [&] {
      return std::filesystem::exists(journal_) &&
             read_file(journal_).find('\n') != std::string::npos;
    });
    command.send(SIGKILL);
    command.wait();
  }
  const Result result = vcap(publishing(server), secret_);
  ASSERT_EQ(result.exit_code, 0) << result;
  const std::vector<Json> records = received(server);
  EXPECT_EQ(records, journal());
  ASSERT_THAT(records, SizeIs(4));
  EXPECT_EQ(records[1].at("reason"), "interrupted");
  EXPECT_EQ(records[1].at("id"), records[0].at("id"));
}

TEST_F(PublishRun, SendsTheRecordsOfFrames) {
  HttpReceiver server;
  const Result result =
      vcap({"run", capsule("finder"), source_, "--publish-frames", server.url(), "--spool", spool_,
            "--publish-secret-file", folder_.write("secrets", "# key\nsecret=s\n").string()});
  ASSERT_EQ(result.exit_code, 0) << result;
  const std::vector<Json> records = received(server);
  ASSERT_THAT(records, SizeIs(20));
  EXPECT_EQ(records.back().at("frame_index"), 19);
}

TEST_F(PublishRun, EndsWithABrokerThatHangs) {
  const SilentListener silent;
  const Result result = vcap(arguments(
      {"--publish", "mqtt://127.0.0.1:" + std::to_string(silent.port()) + "/{capsule}/{stream}",
       "--publish", "kafka://127.0.0.1:" + std::to_string(silent.port()) + "/events", "--spool",
       spool_, "--publish-wait", "0.1"}));
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.out, AllOf(HasSubstr("/{capsule}/{stream}: 0 delivered, 2 not sent"),
                                HasSubstr("/events: 0 delivered, 2 not sent")));
}

TEST_F(PublishRun, RefusesWhatItCannotUse) {
  const auto expect_refused = [&](const std::vector<std::string>& words, const std::string& why) {
    const Result result = vcap(words);
    EXPECT_EQ(result.exit_code, 2) << result;
    EXPECT_THAT(result.err, HasSubstr(why));
    EXPECT_THAT(result.err, Not(HasSubstr("hidden")));
  };
  const auto to = [&](const std::string& url) {
    return arguments({"--publish", url, "--spool", spool_});
  };
  expect_refused(arguments({"--publish", "mqtt://a/b"}), "--publish needs --spool");
  expect_refused({"run", capsule("finder"), source_, "--publish", "mqtt://a/b", "--spool", spool_},
                 "--events");
  expect_refused(to("mqtt://user:hidden@a/b"), "has a password, which others could see");
  expect_refused(to("mqtt://a:99999/b"), "has no valid port");
  expect_refused(to("mqtt://a"), "topic");
  expect_refused(to("amqp://a/b"), "has another scheme than mqtt");
  expect_refused(to("broker"), "is no URL");
  expect_refused(to("https://a/b"), "needs a secret");
  const std::string wrong = folder_.write("secrets", "user=a\nhidden\n").string();
  std::vector<std::string> words = to("https://a/b");
  words.insert(words.end(), {"--publish-secret-file", wrong});
  expect_refused(words, "line 2: it must begin with user=, password= or secret=");
}

}  // namespace
}  // namespace vcap::test
