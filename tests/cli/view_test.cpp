// SPDX-License-Identifier: Apache-2.0
// Tests of vcap run --view: what it lets clients do, and how it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <regex>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/images.hpp"
#include "support/curl_request.hpp"
#include "support/test_certificate.hpp"
#include "support/view_client.hpp"

namespace vcap {
namespace {

using nlohmann::json;
using test::Command;
using test::HttpAnswer;
using test::Result;
using test::ViewClient;
using testing::HasSubstr;
using testing::Not;

std::uint16_t port_of_view(Command& command) {
  std::smatch found;
  if (!command.wait_for_err("the live view is at ")) throw std::runtime_error(command.err());
  command.wait_for_err("/\n");
  const std::string told = command.err();
  if (!std::regex_search(told, found, std::regex("live view is at https?://[0-9.]+:(\\d+)/")))
    throw std::runtime_error("no address in: " + told);
  return static_cast<std::uint16_t>(std::stoi(found[1]));
}

class ViewedRun : public testing::Test {
 protected:
  ViewedRun() { std::filesystem::create_directory(folder_ / "recordings"); }

  std::vector<std::string> arguments(const std::vector<std::string>& more = {}) {
    std::vector<std::string> all{
        "run", test::capsule("zoned"), shots_, "--loop", "0", "--jsonl", jsonl_, "--view", "0"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::string token() const { return json::parse(std::ifstream(tokens_))["tokens"][0]["token"]; }

  const test::TemporaryFolder folder_;
  const std::string shots_ = test::images(folder_, "shots", 5);
  const std::string jsonl_ = (folder_ / "out.jsonl").string();
  const std::string tokens_ = (folder_ / "tokens.json").string();
};

TEST_F(ViewedRun, LetsAnAdminAddChangeRecordAndRemoveStreams) {
  Command command(arguments({"--view-tokens", tokens_, "--view-sources", folder_.path().string(),
                             "--view-recordings", (folder_ / "recordings").string()}));
  const std::uint16_t port = port_of_view(command);
  const ViewClient client(port, token());
  const json stream{
      {"id", "second"}, {"source", shots_}, {"config", {{"zoned", {{"zone", "door"}}}}}};
  EXPECT_EQ(client.ask("POST", "/api/v1/streams", stream.dump()).status, 201);
  const HttpAnswer wrong =
      client.ask("POST", "/api/v1/streams", json{{"id", "../x"}, {"source", shots_}}.dump());
  EXPECT_EQ(wrong.status, 422);
  EXPECT_THAT(wrong.body, HasSubstr("becomes a part of file names"));
  const HttpAnswer recording = client.ask("POST", "/api/v1/recording?stream=second");
  ASSERT_EQ(recording.status, 200) << recording.body;
  const std::string records = json::parse(recording.body)["files"][0];
  EXPECT_EQ(
      client.ask("PUT", "/api/v1/config?stream=second&capsule=zoned", R"({"zone":"gate"})").status,
      200);
  const HttpAnswer seen = test::ask_until(
      [&] { return client.get("/api/v1/record?stream=second"); },
      [](const HttpAnswer& one) { return one.body.find("\"gate\"") != std::string::npos; });
  EXPECT_EQ(seen.status, 200);
  EXPECT_EQ(client.ask("DELETE", "/api/v1/recording?stream=second").status, 200);
  EXPECT_GT(std::filesystem::file_size(records), 0u);
  EXPECT_EQ(client.ask("DELETE", "/api/v1/streams?stream=second").status, 200);
  // The run goes on without streams.
  EXPECT_EQ(client.ask("DELETE", "/api/v1/streams?stream=shots").status, 200);
  EXPECT_EQ(client.get("/api/v1/state").status, 200);
  command.send(SIGINT);
  const Result result = command.wait();
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.out, HasSubstr("stream second"));
  EXPECT_THAT(result.out, HasSubstr("stream shots"));
  EXPECT_THAT(result.err, Not(HasSubstr(token())));
  std::set<std::string> zones;
  std::ifstream lines(jsonl_);
  for (std::string line; std::getline(lines, line);) {
    const json record = json::parse(line);
    if (record["stream_id"] == "second")
      zones.insert(record["objects"][0]["extra_data"]["zone"].get<std::string>());
  }
  EXPECT_EQ(zones, (std::set<std::string>{"door", "gate"}));
}

TEST_F(ViewedRun, AnAddedStreamHasTheConfigOfAllStreams) {
  Command command(arguments({"--view-tokens", tokens_, "--view-sources", folder_.path().string(),
                             "--stream-config", R"(shots:zoned={"zone":"own"})", "--stream-config",
                             R"(zoned={"zone":"of all"})"}));
  const std::uint16_t port = port_of_view(command);
  const ViewClient client(port, token());
  EXPECT_EQ(client.ask("POST", "/api/v1/streams", json{{"id", "second"}, {"source", shots_}}.dump())
                .status,
            201);
  // The view listens before the run opens its sources.
  const auto zone_of = [&](const std::string& stream) {
    const HttpAnswer answer =
        test::ask_until([&] { return client.get("/api/v1/settings?stream=" + stream); },
                        [](const HttpAnswer& one) { return one.status == 200; });
    return json::parse(answer.body).at("capsules").at(0).at("config").at("zone").get<std::string>();
  };
  EXPECT_EQ(zone_of("second"), "of all");
  EXPECT_EQ(zone_of("shots"), "own");
  command.send(SIGINT);
  EXPECT_EQ(command.wait().exit_code, 0);
}

/// A run whose capsule the key alice has signed, and which takes uploads that it has signed.
class UploadingRun : public ViewedRun {
 protected:
  UploadingRun() {
    for (const char* const name : {"alice", "bob"})
      EXPECT_EQ(test::vcap({"keygen", (folder_ / name).string()}).exit_code, 0);
  }

  std::vector<std::string> signed_arguments(const std::vector<std::string>& more) {
    std::vector<std::string> all =
        arguments({"--view-tokens", tokens_, "--view-uploads", "--require-signature",
                   "--trusted-key", (folder_ / "alice.pub").string()});
    all.insert(all.end(), more.begin(), more.end());
    all[1] = copy("zoned", "alice");
    return all;
  }
  /// A copy of the capsule, signed by the key if it has a name.
  std::string copy(const std::string& capsule, const std::string& key) const {
    const std::string path = (folder_ / (capsule + "_of_" + key + ".cap")).string();
    std::filesystem::copy_file(test::capsule(capsule), path);
    if (!key.empty()) {
      EXPECT_EQ(test::vcap({"sign", path, "--key", (folder_ / (key + ".key")).string()}).exit_code,
                0);
    }
    return path;
  }
  HttpAnswer upload(const ViewClient& client, const std::string& path,
                    const std::string& query = "") const {
    return client.ask("PUT", "/api/v1/capsule" + query, test::read_file(path));
  }
  /// Of the capsule that runs. The view listens before the run opens its source.
  int version(const ViewClient& client) const {
    const HttpAnswer answer =
        test::ask_until([&] { return client.get("/api/v1/settings?stream=shots"); },
                        [](const HttpAnswer& one) { return one.status == 200; });
    return json::parse(answer.body).at("capsules").at(0).at("version").get<int>();
  }
  std::int64_t newest_frame(const ViewClient& client, std::int64_t least) const {
    const auto frame_of = [](const HttpAnswer& answer) {
      return answer.status == 200 ? json::parse(answer.body).at("frame_index").get<std::int64_t>()
                                  : -1;
    };
    return frame_of(test::ask_until([&] { return client.get("/api/v1/record?stream=shots"); },
                                    [&](const HttpAnswer& one) { return frame_of(one) >= least; }));
  }
};

TEST_F(UploadingRun, ReplacesACapsuleOnlyByOneThatATrustedKeyHasSigned) {
  Command command(signed_arguments({"--stream-config", R"(zoned={"zone":"door"})"}));
  const std::uint16_t port = port_of_view(command);
  const ViewClient client(port, token());
  const HttpAnswer unsigned_one = upload(client, copy("zoned_2", ""));
  EXPECT_EQ(unsigned_one.status, 422);
  EXPECT_THAT(unsigned_one.body, HasSubstr("is not signed"));
  EXPECT_EQ(upload(client, copy("zoned_2", "bob")).status, 422);
  EXPECT_EQ(upload(client, copy("finder", "alice")).status, 404);
  EXPECT_EQ(version(client), 1);

  const HttpAnswer replaced = upload(client, copy("zoned_2", "alice"), "?trial=5");
  ASSERT_EQ(replaced.status, 200) << replaced.body;
  const json told = json::parse(replaced.body);
  EXPECT_EQ(told.at("from_version"), 1);
  EXPECT_EQ(told.at("to_version"), 2);
  newest_frame(client, told.at("frames").at("shots").get<std::int64_t>() + 10);
  EXPECT_THAT(client.get("/api/v1/record?stream=shots").body, HasSubstr("\"door\""))
      << "the config of the stream is kept";
  EXPECT_EQ(version(client), 2);
  command.send(SIGINT);
  const Result result = command.wait();
  EXPECT_EQ(result.exit_code, 0) << result;
}

TEST_F(UploadingRun, GoesOnAndEndsWhileAnUploadHangs) {
  Command command(signed_arguments({"--grace", "1"}));
  const std::uint16_t port = port_of_view(command);
  const ViewClient client(port, token());
  EXPECT_EQ(version(client), 1);
  const std::string hanging = copy("zoned_3", "alice");
  std::jthread uploading([&] { upload(client, hanging); });
  const std::int64_t before = newest_frame(client, 0);
  EXPECT_GE(newest_frame(client, before + 100), before + 100);
  command.send(SIGINT);
  const Result result = command.wait();
  EXPECT_EQ(result.exit_code, 9) << result;
  EXPECT_THAT(result.err, HasSubstr("the end of streams and metrics has not returned within"));
  std::ifstream lines(jsonl_);
  std::string line, last;
  while (std::getline(lines, line)) last = line;
  EXPECT_GE(json::parse(last).at("frame_index").get<std::int64_t>(), before + 100);
}

TEST_F(ViewedRun, ShowsTheZonesOfEventRules) {
  const std::string rules = folder_
                                .write("rules.json", R"({"schema": "vcap.event-rules/1",
      "zones": [{"name": "yard", "polygon": [[10, 10], [54, 10], [54, 40], [10, 40]]}],
      "rules": [{"name": "comes", "kind": "enter", "zone": "yard"}]})")
                                .string();
  const auto edge_is_grey = [&](const std::vector<std::string>& more) {
    std::vector<std::string> options{"--events", rules, "--event-log",
                                     (folder_ / "events.jsonl").string()};
    options.insert(options.end(), more.begin(), more.end());
    Command command(arguments(options));
    const ViewClient client(port_of_view(command));
    const HttpAnswer answer =
        test::ask_until([&] { return client.get("/api/v1/picture?stream=shots&width=320"); },
                        [](const HttpAnswer& one) { return one.status == 200; });
    const cv::Mat picture = cv::imdecode(
        std::vector<unsigned char>(answer.body.begin(), answer.body.end()), cv::IMREAD_COLOR);
    command.send(SIGTERM);
    EXPECT_EQ(command.wait().exit_code, 0);
    const cv::Vec3b color = picture.at<cv::Vec3b>(36, 54);
    return std::max({color[0], color[1], color[2]}) - std::min({color[0], color[1], color[2]}) < 30;
  };
  EXPECT_FALSE(edge_is_grey({}));
  EXPECT_TRUE(edge_is_grey({"--draw", "boxes"})) << "a list decides alone";
}

TEST_F(ViewedRun, WithoutTokensOnlyShows) {
  Command command(arguments());
  const ViewClient client(port_of_view(command));
  EXPECT_EQ(client.get("/").status, 200);
  EXPECT_EQ(client.get("/api/v1/state").status, 200);
  EXPECT_EQ(client.ask("DELETE", "/api/v1/streams?stream=shots").status, 403);
  command.send(SIGTERM);
  EXPECT_EQ(command.wait().exit_code, 0);
}

/// In these packages are the names without a version, such as libssl.so, as symbolic links.
TEST_F(ViewedRun, SpeaksTlsWithoutAnyDevelopmentPackage) {
  const std::string pem = (folder_ / "server.pem").string();
  test::write_certificate(pem);
  const test::TemporaryFolder loads;
  Command command(
      arguments({"--tls-cert", pem, "--tls-key", pem}),
      {.environment = {{"LD_DEBUG", "files"}, {"LD_DEBUG_OUTPUT", (loads / "loads").string()}}});
  const std::string url = "https://127.0.0.1:" + std::to_string(port_of_view(command)) + "/";
  const test::CurlAnswer answer = test::curl_request(url, {.authority = pem});
  EXPECT_EQ(answer.status, 200) << answer.error;
  command.send(SIGTERM);
  EXPECT_EQ(command.wait().exit_code, 0);

  const std::regex load(R"(calling init: (\S+))");
  std::set<std::string> libraries;
  for (const auto& entry : std::filesystem::directory_iterator(loads.path())) {
    std::ifstream lines(entry.path());
    std::smatch found;
    for (std::string line; std::getline(lines, line);)
      if (std::regex_search(line, found, load)) libraries.insert(found[1]);
  }
  EXPECT_THAT(libraries, testing::Contains(HasSubstr("libgnutls.so.")));
  for (const std::string& library : libraries)
    EXPECT_FALSE(library.ends_with(".so") && std::filesystem::is_symlink(library)) << library;
}

TEST_F(ViewedRun, RefusesWhatWouldBeUnsafe) {
  const auto refusal = [&](const std::vector<std::string>& more, std::size_t drop = 2) {
    std::vector<std::string> all = arguments();
    all.resize(all.size() - drop);
    all.insert(all.end(), more.begin(), more.end());
    const Result result = test::vcap(all);
    EXPECT_NE(result.exit_code, 0) << result;
    return result.err;
  };
  EXPECT_THAT(refusal({"--view", "0.0.0.0:0"}), HasSubstr("which other machines can reach"));
  EXPECT_THAT(refusal({"--view", "0", "--view-sources", "rtsp"}), HasSubstr("--view-tokens"));
  EXPECT_THAT(refusal({"--view-tokens", tokens_}), HasSubstr("--view"));
  EXPECT_THAT(refusal({"--view", "0", "--tls-cert", "a.pem"}), HasSubstr("--tls-key"));
  EXPECT_THAT(refusal({"--view", "0", "--tls-cert", "/none/a.pem", "--tls-key", "/none/b.pem"}),
              HasSubstr("/none/"));
  EXPECT_THAT(refusal({"--view", "0", "--view-tokens", tokens_, "--view-sources", "ftp"}),
              HasSubstr("neither a folder nor a scheme"));
  EXPECT_THAT(refusal({"--view", "0", "--view-tokens", tokens_, "--view-recordings", "/none"}),
              HasSubstr("make it first"));
  EXPECT_THAT(refusal({"--view", "0", "--view-tokens", tokens_, "--view-uploads"}),
              HasSubstr("--require-signature"));
  ::chmod(tokens_.c_str(), 0644);
  EXPECT_THAT(refusal({"--view", "0", "--view-tokens", tokens_}), HasSubstr("chmod 600"));
}

}  // namespace
}  // namespace vcap
