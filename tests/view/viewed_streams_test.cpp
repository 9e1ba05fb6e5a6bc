// SPDX-License-Identifier: Apache-2.0
// Views of streams that something else decides on: pipelines that come and go.
#include "vcap/pipeline/viewed_streams.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/runtime_fixtures.hpp"
#include "support/throws_error.hpp"
#include "support/view_client.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

/// Stands for what decides on the streams: its pipelines are made and dropped while a view shows
/// them.
class Owner {
 public:
  std::shared_ptr<Pipeline> add(std::vector<std::shared_ptr<Capsule>> capsules = {}) {
    auto pipeline = std::make_shared<Pipeline>(std::move(capsules));
    const std::lock_guard lock(mutex_);
    pipelines_.push_back(pipeline);
    return pipeline;
  }
  void list(std::vector<ViewedStreams::Listed> streams) {
    const std::lock_guard lock(mutex_);
    streams_ = std::move(streams);
  }
  int lists_made() const {
    const std::lock_guard lock(mutex_);
    return lists_made_;
  }
  ViewedStreams viewed() {
    return {.pipelines =
                [this] {
                  std::vector<std::shared_ptr<const Pipeline>> all;
                  const std::lock_guard lock(mutex_);
                  for (const auto& one : pipelines_)
                    if (auto pipeline = one.lock()) all.push_back(std::move(pipeline));
                  return all;
                },
            .all =
                [this] {
                  const std::lock_guard lock(mutex_);
                  ++lists_made_;
                  return streams_;
                },
            .refusal = "use the other command"};
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<const Pipeline>> pipelines_;
  std::vector<ViewedStreams::Listed> streams_;
  int lists_made_ = 0;
};

void open_in(Pipeline& pipeline, const LiveView& view, SteadyFeed& feed, const std::string& id) {
  StreamConfig config{.id = id, .source = feed.source()};
  config.sinks.push_back(view.sink());
  pipeline.open_stream(std::move(config));
}

std::vector<std::string> ids_in(const Json& list) {
  std::vector<std::string> ids;
  for (const Json& one : list) ids.push_back(one["id"]);
  return ids;
}

HttpAnswer await_picture(const ViewClient& client, const std::string& stream) {
  return ask_until([&] { return client.get("/api/v1/picture?stream=" + stream); },
                   [](const HttpAnswer& answer) { return answer.status == 200; });
}

TEST(ViewedStreams, OfSeveralPipelinesAreShownTogether) {
  Owner owner;
  const LiveView view(owner.viewed(), {});
  const ViewClient client(view);
  EXPECT_EQ(client.json("/api/v1/state")["stats"]["streams"], Json::array());
  SteadyFeed yard_feed;
  SteadyFeed gate_feed;
  const auto persons = owner.add({make_detector("persons", "person")});
  open_in(*persons, view, yard_feed, "yard");
  auto cars = owner.add({make_detector("cars", "car")});
  open_in(*cars, view, gate_feed, "gate");
  for (const std::string stream : {"gate", "yard"}) {
    EXPECT_EQ(await_picture(client, stream).body.substr(0, 2), "\xff\xd8");
    EXPECT_EQ(client.json("/api/v1/record?stream=" + stream)["stream_id"], stream);
    EXPECT_EQ(client.json("/api/v1/settings?stream=" + stream)["capsules"][0]["name"],
              stream == "gate" ? "cars" : "persons");
  }
  const Json state = client.json("/api/v1/state");
  EXPECT_THAT(ids_in(state["stats"]["streams"]), ElementsAre("gate", "yard"));
  EXPECT_EQ(state["stats"]["capsules"].size(), 2u);
  EXPECT_EQ(state["plans"][0]["streams"], Json({"yard"}));
  EXPECT_EQ(state["plans"][1]["plan"]["steps"][0]["capsule"], "cars");
  EXPECT_THAT(state["plans"][1]["text"].get<std::string>(), HasSubstr("cars"));
  EXPECT_EQ(client.json("/api/v1/capsules")["capsules"].size(), 2u);

  cars.reset();
  EXPECT_THAT(ids_in(client.json("/api/v1/state")["stats"]["streams"]), ElementsAre("yard"));
  EXPECT_EQ(code_of(client.get("/api/v1/picture?stream=gate")), "unknown_stream");
  EXPECT_EQ(code_of(client.get("/api/v1/settings?stream=gate")), "unknown_stream");
  persons->stop();
}

TEST(ViewedStreams, OfOthersAreListed) {
  Owner owner;
  const std::string view_of_two = "http://two.example:9465/";
  owner.list(
      {{.id = "gate", .state = "running", .worker = "one"},
       {.id = "hall", .state = "running", .worker = "two", .view = view_of_two},
       {.id = "roof", .state = "running", .worker = "evil", .view = "javascript:alert(1)"},
       {.id = "yard", .state = "waiting", .reason = "rtsp://me:secret@camera/ does not answer"}});
  const LiveView view(owner.viewed(), {});
  const ViewClient client(view);
  const auto gate = owner.add();
  SteadyFeed feed;
  open_in(*gate, view, feed, "gate");
  const Json listed = client.json("/api/v1/state")["elsewhere"];
  EXPECT_THAT(ids_in(listed), ElementsAre("hall", "roof", "yard")) << "it shows the gate itself";
  EXPECT_EQ(listed[0], Json({{"id", "hall"},
                             {"state", "running"},
                             {"worker", "two"},
                             {"view", view_of_two},
                             {"reason", ""}}));
  EXPECT_EQ(listed[1]["view"], "") << "only pages are linked to";
  EXPECT_THAT(listed[2]["reason"].get<std::string>(), Not(HasSubstr("secret")));
  const int before = owner.lists_made();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) client.get("/api/v1/state");
  const auto time = std::chrono::steady_clock::now() - begin;
  EXPECT_LE(owner.lists_made() - before, 1 + time / std::chrono::milliseconds(500))
      << "however often clients ask";
  gate->stop();
}

TEST(ViewedStreams, AreNotListedForATokenOfOtherStreams) {
  Owner owner;
  owner.list({{.id = "hall", .state = "running"}, {.id = "yard", .state = "running"}});
  const std::string token = "viewer-of-the-hall";
  const LiveView view(owner.viewed(),
                      {.tokens = {{.name = "h", .token = token, .streams = {{"hall"}}}}});
  const auto roof = owner.add();
  SteadyFeed feed;
  open_in(*roof, view, feed, "roof");
  const HttpAnswer answer = ViewClient(view, token).get("/api/v1/state");
  EXPECT_THAT(ids_in(Json::parse(answer.body)["elsewhere"]), ElementsAre("hall"));
  EXPECT_THAT(answer.body, Not(HasSubstr("yard")));
  EXPECT_THAT(answer.body, Not(HasSubstr("roof")));
  roof->stop();
}

TEST(ViewedStreams, AreNotChangedWhoeverAsks) {
  Owner owner;
  const std::string token = "admin-of-everything";
  LiveViewSettings settings{
      .tokens = {{.name = "a", .token = token, .role = ViewRole::admin}},
      .sources = {.schemes = {"rtsp"}},
      .make_recording = [](const std::string&) { return ViewRecording{}; },
  };
  for (const bool has_token : {true, false}) {
    if (!has_token) settings.tokens.clear();
    const LiveView view(owner.viewed(), settings);
    const auto gate = owner.add();
    SteadyFeed feed;
    open_in(*gate, view, feed, "gate");
    const ViewClient client(view, has_token ? token : std::string());
    const Json can = client.json("/api/v1/me")["can"];
    EXPECT_EQ(
        can,
        Json({{"change", false}, {"add_sources", false}, {"upload", false}, {"record", false}}));
    int changes = 0;
    const Json document = Json::parse(view.openapi());
    for (const auto& [path, methods] : document["paths"].items())
      for (const auto& [method, operation] : methods.items()) {
        if (method == "get") continue;
        ++changes;
        std::string upper;
        for (const char c : method) upper += static_cast<char>(c - 'a' + 'A');
        const HttpAnswer answer = client.ask(upper, path + "?stream=gate", "{}");
        EXPECT_EQ(answer.status, 403) << path;
        EXPECT_EQ(code_of(answer), "only_shown") << path;
        EXPECT_EQ(message_of(answer), "use the other command") << path;
      }
    EXPECT_GE(changes, 7);
    if (has_token) {
      EXPECT_EQ(ViewClient(view).ask("DELETE", "/api/v1/streams?stream=gate").status, 401);
    }
    gate->stop();
  }
}

TEST(ViewedStreams, NeedAFunctionForThePipelines) {
  EXPECT_THAT([] { LiveView(ViewedStreams{}, {}); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("no function")));
}

}  // namespace
}  // namespace vcap::test
