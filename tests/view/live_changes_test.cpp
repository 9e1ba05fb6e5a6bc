// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>

#include <nlohmann/json.hpp>

#include "media/opencv_io.hpp"
#include "support/pipeline_helpers.hpp"
#include "support/temporary_folder.hpp"
#include "support/view_client.hpp"
#include "vcap/base/error.hpp"
#include "vcap/records/sink.hpp"

namespace vcap::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kToken = "a-token-of-an-admin";

std::vector<ViewToken> one_admin() {
  return {{.name = "boss", .token = kToken, .role = ViewRole::admin}};
}

/// The state of a stream with a zone; each node names it.
struct ZoneState final : BaseStreamState {
  explicit ZoneState(const StreamInfo& stream) : zone(stream.config.value("zone", "none")) {}
  std::string zone;
};

/// Names each object after the zone of its stream and the option "level".
std::shared_ptr<Capsule> make_zoned(const std::string& name) {
  CapsuleInfo info = detector_info(name, "thing");
  info.output_type.extra_data = {"zone", "level"};
  info.options = {{"level", IntOption{.default_value = 1, .min = 0, .max = 100}}};
  info.stream_state = make_stream_state<ZoneState>();
  info.stream_config_schema =
      json::parse(R"({"properties": {"zone": {"type": "string"}}, "additionalProperties": false})");
  return make_capsule(
      info, [](const Frame&, DetectionNodes, const OptionValues& options, BaseStreamState& state) {
        DetectionNode node = node_at("thing", 0, 0);
        node.extra_data = {{"zone", static_cast<ZoneState&>(state).zone},
                           {"level", options.get<int>("level")}};
        DetectionNodes nodes = DetectionNodes::all();
        nodes.add(std::move(node));
        return nodes;
      });
}

/// The records of a stream as they come.
class KeptRecords {
 public:
  std::shared_ptr<Sink> sink() {
    return make_callback_sink([this](const FrameRecord& record) {
      const std::lock_guard lock(mutex_);
      const json& data = *record.objects.at(0).extra_data;
      values_[record.frame.index] = {data.at("zone"), data.at("level")};
    });
  }
  std::map<std::int64_t, std::pair<std::string, int>> values() const {
    const std::lock_guard lock(mutex_);
    return values_;
  }
  /// Waits until there are some after that frame.
  void wait_for(std::int64_t frame) const {
    for (int i = 0; i < 6000 && (values().empty() || values().rbegin()->first < frame + 5); ++i)
      std::this_thread::sleep_for(10ms);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::int64_t, std::pair<std::string, int>> values_;
};

class LiveChanges : public testing::Test {
 protected:
  void start(LiveViewSettings settings = {}) {
    settings.tokens = one_admin();
    view_ = std::make_unique<LiveView>(pipeline_, std::move(settings));
  }
  void open(SteadyFeed& feed, const std::string& id, const json& config = json::object()) {
    StreamConfig stream{.id = id, .source = feed.source()};
    stream.sinks = {view_->sink(), records_.sink()};
    if (!config.empty()) stream.config["zoned"] = config;
    pipeline_.open_stream(std::move(stream));
  }
  HttpAnswer ask(const std::string& method, const std::string& path,
                 const std::string& body = {}) const {
    return ViewClient(*view_, kToken).ask(method, path, body);
  }

  SteadyFeed gate_;  // before the pipeline, which reads from it
  KeptRecords records_;
  Pipeline pipeline_{{make_zoned("zoned")}};
  std::unique_ptr<LiveView> view_;
};

TEST_F(LiveChanges, AnOptionHoldsFromTheToldFrameOn) {
  start();
  open(gate_, "gate");
  const HttpAnswer answer =
      ask("PUT", "/api/v1/option?stream=gate&capsule=zoned&option=level", "7");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const auto frame = json::parse(answer.body)["frames"]["gate"].get<std::int64_t>();
  records_.wait_for(frame);
  std::int64_t first = -1;
  for (const auto& [index, value] : records_.values()) {
    if (value.second == 7 && first < 0) first = index;
    EXPECT_EQ(value.second, first < 0 ? 1 : 7) << index;
  }
  EXPECT_GE(first, frame);
  const json settings = json::parse(ask("GET", "/api/v1/settings?stream=gate").body);
  EXPECT_EQ(settings["capsules"][0]["options"]["level"], 7);
}

TEST_F(LiveChanges, AnOptionForAllStreamsReachesEach) {
  start();
  open(gate_, "gate");
  SteadyFeed other;
  StreamConfig config{
      .id = "yard", .source = other.source(), .capsules = {std::vector<std::string>()}};
  pipeline_.open_stream(std::move(config));  // which does not go through the capsule
  const json frames =
      json::parse(ask("PUT", "/api/v1/option?capsule=zoned&option=level", "9").body)["frames"];
  EXPECT_TRUE(frames.contains("gate"));
  EXPECT_FALSE(frames.contains("yard"));
  pipeline_.close_stream("yard");
}

TEST_F(LiveChanges, AWrongOptionIsRefusedByItsDeclaration) {
  start();
  open(gate_, "gate");
  const std::string path = "/api/v1/option?stream=gate&capsule=zoned&option=";
  EXPECT_THAT(message_of(ask("PUT", path + "level", "101")), HasSubstr("0 to 100"));
  EXPECT_EQ(ask("PUT", path + "level", "101").status, 422);
  EXPECT_EQ(ask("PUT", path + "level", "\"x\"").status, 422);
  EXPECT_EQ(ask("PUT", path + "none", "1").status, 422);
  EXPECT_EQ(code_of(ask("PUT", path + "level", "{")), "invalid_json");
  EXPECT_EQ(ask("PUT", "/api/v1/option?stream=none&capsule=zoned&option=level", "1").status, 404);
  EXPECT_EQ(ask("PUT", "/api/v1/option?stream=gate&capsule=none&option=level", "1").status, 404);
  EXPECT_EQ(ask("PUT", "/api/v1/option?stream=gate&capsule=zoned", "1").status, 400);
}

TEST_F(LiveChanges, AConfigHoldsFromTheToldFrameOnAndAWrongOneChangesNothing) {
  start();
  open(gate_, "gate", {{"zone", "left"}});
  const std::string path = "/api/v1/config?stream=gate&capsule=zoned";
  for (const char* wrong : {R"({"zone": 5})", R"({"zones": "x"})", R"({"zone": )", "[]", ""})
    EXPECT_EQ(ask("PUT", path, wrong).status, 422) << wrong;
  EXPECT_THAT(message_of(ask("PUT", path, "{\n \"zone\": }")), HasSubstr("line 2, column 10"));
  const HttpAnswer answer = ask("PUT", path, R"({"zone": "right"})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const auto frame = json::parse(answer.body)["frame"].get<std::int64_t>();
  records_.wait_for(frame);
  std::string zone = "left";
  for (const auto& [index, value] : records_.values()) {
    if (value.first == "right") {
      if (zone == "left") {
        EXPECT_GE(index, frame);
      }
      zone = "right";
    }
    EXPECT_EQ(value.first, zone) << index;
  }
  EXPECT_EQ(zone, "right");
  EXPECT_EQ(json::parse(ask("GET", "/api/v1/settings?stream=gate").body)["capsules"][0]["config"],
            json({{"zone", "right"}}));
}

TEST_F(LiveChanges, AStreamIsAddedAndRemoved) {
  const TemporaryFolder folder;
  const std::vector<unsigned char> picture =
      opencv_io().encode_image(cv::Mat(48, 64, CV_8UC3, cv::Scalar::all(7)), ".png", 100);
  std::ofstream(folder.path() / "a.png", std::ios::binary)
      .write(reinterpret_cast<const char*>(picture.data()),
             static_cast<std::streamsize>(picture.size()));
  start({.sources = {.folders = {folder.path().string()}, .options = {.loop = 0}}});
  const std::string body = json{{"id", "pictures"},
                                {"source", folder.path().string()},
                                {"options", {{"zoned", {{"level", 3}}}}},
                                {"config", {{"zoned", {{"zone", "new"}}}}}}
                               .dump();
  const HttpAnswer added = ask("POST", "/api/v1/streams", body);
  ASSERT_EQ(added.status, 201) << added.body;
  EXPECT_EQ(ask("POST", "/api/v1/streams", body).status, 409);
  const HttpAnswer record = ask_until([&] { return ask("GET", "/api/v1/record?stream=pictures"); },
                                      [](const HttpAnswer& one) { return one.status == 200; });
  const json data = json::parse(record.body)["objects"][0]["extra_data"];
  EXPECT_EQ(data, json({{"zone", "new"}, {"level", 3}}));
  EXPECT_EQ(ask("DELETE", "/api/v1/streams?stream=pictures").status, 200);
  EXPECT_EQ(ask("DELETE", "/api/v1/streams?stream=pictures").status, 404);
  EXPECT_TRUE(pipeline_.reports().empty());
}

TEST_F(LiveChanges, AStreamThatIsNotAllowedOrWrongIsNotAdded) {
  const TemporaryFolder folder;
  start({.sources = {.schemes = {"rtsp"}, .folders = {folder.path().string()}}});
  const auto post = [&](const json& body) { return ask("POST", "/api/v1/streams", body.dump()); };
  EXPECT_EQ(post({{"id", "a"}, {"source", "/etc/passwd"}}).status, 403);
  const HttpAnswer secret = post({{"id", "a"}, {"source", "http://anna:secret@127.0.0.1/"}});
  EXPECT_EQ(secret.status, 403);
  EXPECT_THAT(secret.body, testing::Not(HasSubstr("secret")));
  for (const json& wrong :
       {json({{"id", "a"}}), json({{"id", 1}, {"source", "a"}}), json::array(),
        json({{"id", ""}, {"source", "rtsp://127.0.0.1:1/"}}),
        json({{"id", "a"}, {"source", "rtsp://127.0.0.1:1/"}, {"more", 1}}),
        json({{"id", "a"}, {"source", "rtsp://127.0.0.1:1/"}, {"config", 1}}),
        json({{"id", std::string(300, 'a')}, {"source", "rtsp://127.0.0.1:1/"}})})
    EXPECT_EQ(post(wrong).status, 422) << wrong;
  EXPECT_EQ(
      post({{"id", "a"}, {"source", "rtsp://127.0.0.1:1/"}, {"config", {{"zoned", {{"zone", 1}}}}}})
          .status,
      422);
  EXPECT_TRUE(pipeline_.reports().empty());
}

TEST_F(LiveChanges, WhatWasNotAllowedAtTheStartIsRefused) {
  start();
  open(gate_, "gate");
  EXPECT_EQ(ask("POST", "/api/v1/streams", R"({"id": "a", "source": "rtsp://127.0.0.1/"})").status,
            403);
  EXPECT_EQ(ask("POST", "/api/v1/recording?stream=gate").status, 403);
  EXPECT_EQ(ask("PUT", "/api/v1/capsule").status, 403);
  EXPECT_EQ(ask("PUT", "/api/v1/capsule", "PK").status, 413);
  const json me = json::parse(ask("GET", "/api/v1/me").body);
  EXPECT_EQ(me["role"], "admin");
  EXPECT_EQ(me["can"],
            json({{"change", true}, {"add_sources", false}, {"upload", false}, {"record", false}}));
}

TEST_F(LiveChanges, AnUploadNeedsAPolicyOfSignatures) {
  start({.upload_options = [](const std::string&) { return LoadOptions{}; }});
  const HttpAnswer answer = ask("PUT", "/api/v1/capsule", "PK no capsule");
  EXPECT_EQ(answer.status, 403);
  EXPECT_THAT(message_of(answer), HasSubstr("requires signatures"));
  EXPECT_TRUE(json::parse(ask("GET", "/api/v1/me").body)["can"]["upload"]);
}

TEST_F(LiveChanges, ARecordingHasTheRecordsBetweenItsStartAndItsEnd) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "gate.jsonl").string();
  start({.make_recording = [&](const std::string& stream) {
    return ViewRecording{.files = {stream + ".jsonl"}, .sinks = {make_json_lines_sink(path)}};
  }});
  open(gate_, "gate");
  EXPECT_EQ(ask("DELETE", "/api/v1/recording?stream=gate").status, 404);
  const HttpAnswer begun = ask("POST", "/api/v1/recording?stream=gate");
  EXPECT_EQ(json::parse(begun.body)["files"], json({"gate.jsonl"}));
  EXPECT_EQ(ask("POST", "/api/v1/recording?stream=gate").status, 409);
  EXPECT_EQ(ask("POST", "/api/v1/recording?stream=none").status, 404);
  EXPECT_EQ(json::parse(ask("GET", "/api/v1/state").body)["recordings"]["gate"],
            json({"gate.jsonl"}));
  const std::int64_t now = records_.values().empty() ? 0 : records_.values().rbegin()->first;
  records_.wait_for(now);
  EXPECT_EQ(ask("DELETE", "/api/v1/recording?stream=gate").status, 200);
  EXPECT_GT(std::filesystem::file_size(path), 0u);
  EXPECT_TRUE(json::parse(ask("GET", "/api/v1/state").body)["recordings"].empty());
}

TEST_F(LiveChanges, FromManyClientsAtATimeAreAllAnswered) {
  start();
  open(gate_, "gate");
  std::vector<std::jthread> clients;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 8; ++i)
    clients.emplace_back([&, i] {
      for (int j = 0; j < 20; ++j) {
        const HttpAnswer answer =
            ask("PUT", "/api/v1/option?stream=gate&capsule=zoned&option=level",
                std::to_string((i + j) % 100));
        if (answer.status == 200) ++answered;
      }
    });
  clients.clear();
  EXPECT_EQ(answered, 160);
}

}  // namespace
}  // namespace vcap::test
