// SPDX-License-Identifier: Apache-2.0
#include "vcap/view/live_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include <nlohmann/json.hpp>

#include "support/runtime_fixtures.hpp"
#include "support/throws_error.hpp"
#include "support/view_client.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kViewer = "viewer-of-everything";
constexpr const char* kGateViewer = "viewer-of-the-gate";
constexpr const char* kGateOperator = "operator-of-the-gate";
constexpr const char* kOperator = "operator-of-everything";
constexpr const char* kAdmin = "admin-of-everything";

std::vector<ViewToken> all_roles() {
  return {
      {.name = "v", .token = kViewer},
      {.name = "gv", .token = kGateViewer, .streams = {{"gate"}}},
      {.name = "go", .token = kGateOperator, .role = ViewRole::operator_, .streams = {{"gate"}}},
      {.name = "o", .token = kOperator, .role = ViewRole::operator_},
      {.name = "a", .token = kAdmin, .role = ViewRole::admin}};
}

void open_feed(Pipeline& pipeline, const LiveView& view, SteadyFeed& feed, const std::string& id) {
  StreamConfig config{.id = id, .source = feed.source()};
  config.sinks.push_back(view.sink());
  pipeline.open_stream(std::move(config));
}

TEST(LiveView, ShowsAStreamWhoseNameIsMarkup) {
  Pipeline pipeline({});
  const LiveView view(pipeline, {});
  SteadyFeed feed;
  open_feed(pipeline, view, feed, "<b>gate</b>");
  const ViewClient client(view);
  const std::string query = "?stream=%3Cb%3Egate%3C/b%3E&width=320";
  const HttpAnswer answer = ask_until([&] { return client.get("/api/v1/picture" + query); },
                                      [](const HttpAnswer& one) { return one.status == 200; });
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.head, HasSubstr("image/jpeg"));
  EXPECT_EQ(answer.body.substr(0, 2), "\xff\xd8");
  EXPECT_EQ(client.json("/api/v1/record" + query)["stream_id"], "<b>gate</b>");
  EXPECT_EQ(client.json("/api/v1/state")["stats"]["streams"][0]["id"], "<b>gate</b>");
  pipeline.stop();
}

TEST(LiveView, StreamsPicturesRecordsAndStates) {
  Pipeline pipeline({make_detector("finder", "person")});
  const LiveView view(pipeline, {});
  SteadyFeed feed;
  open_feed(pipeline, view, feed, "gate");
  const LoopbackConnection connection(view.port());
  connection.send("GET /api/v1/live?large=gate&rate=30 HTTP/1.1\r\nHost: 127.0.0.1:" +
                  std::to_string(view.port()) + "\r\n\r\n");
  std::string text;
  const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
  for (int i = 0; i < 10'000 &&
                  !(has("\xff\xd8") && has("\"type\":\"picture\"") && has("\"type\":\"record\"") &&
                    has("\"type\":\"state\"") && has("\"name\":\"person\""));
       ++i)
    text += connection.read_some();
  EXPECT_TRUE(has("\"type\":\"picture\""));
  EXPECT_TRUE(has("\"type\":\"record\""));
  EXPECT_TRUE(has("\"type\":\"state\""));
  EXPECT_TRUE(has("\xff\xd8"));
  EXPECT_EQ(ViewClient(view).json("/api/v1/state")["viewers"], 1);
  pipeline.stop();
}

TEST(LiveView, ShowsNoPictureOfAStreamThatIsOpenedAgain) {
  Pipeline pipeline({});
  const LiveView view(pipeline, {});
  const ViewClient client(view);
  const auto ask = [&] { return client.get("/api/v1/picture?stream=gate&width=320"); };
  {
    SteadyFeed feed;
    open_feed(pipeline, view, feed, "gate");
    EXPECT_EQ(ask_until(ask, [](const HttpAnswer& one) { return one.status == 200; }).status, 200);
    pipeline.close_stream("gate");
  }
  EXPECT_EQ(code_of(ask()), "unknown_stream");
  FrameFeed silent;
  StreamConfig config{.id = "gate", .source = silent.source()};
  config.sinks.push_back(view.sink());
  pipeline.open_stream(std::move(config));
  EXPECT_EQ(code_of(ask()), "no_picture");
  silent.end();
  pipeline.wait("gate");
}

TEST(LiveView, ServesItsPageWithAStrictPolicy) {
  Pipeline pipeline({});
  const LiveView view(pipeline, {});
  const ViewClient client(view);
  for (const char* path : {"/", "/live.css", "/chart.js", "/api/v1/state", "/none"}) {
    const HttpAnswer answer = client.get(path);
    EXPECT_EQ(answer.status, std::string(path) == "/none" ? 404 : 200) << path;
    EXPECT_THAT(answer.head, HasSubstr("Content-Security-Policy: default-src 'self'")) << path;
    EXPECT_THAT(answer.head, HasSubstr("X-Content-Type-Options: nosniff")) << path;
  }
}

TEST(LiveView, ListensBeyondThisMachineOnlyWithTokens) {
  Pipeline pipeline({});
  EXPECT_THAT([&] { LiveView(pipeline, {.address = "0.0.0.0:0"}); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("give tokens")));
  const LiveView view(pipeline, {.address = "0.0.0.0:0", .tokens = all_roles()});
  EXPECT_EQ(ViewClient(view).get("/api/v1/state").status, 401);
  EXPECT_EQ(ViewClient(view, kViewer).get("/api/v1/state").status, 200);
  EXPECT_EQ(ViewClient(view).get("/").status, 200);  // it asks for the token
}

TEST(LiveView, RefusesWrongSettings) {
  Pipeline pipeline({});
  EXPECT_THROW(LiveView(pipeline, {.draw = "boxs"}), InvalidArgument);
  EXPECT_THROW(LiveView(pipeline, {.limits = {.connections = 0}}), InvalidArgument);
  EXPECT_THROW(LiveView(pipeline, {.tokens = {{.name = "a", .token = "short"}}}), InvalidArgument);
  EXPECT_THROW(LiveView(pipeline, {.address = "nowhere"}), InvalidArgument);
}

/// Each route, with what it needs to get as far as its answer.
std::vector<nlohmann::json> routes_of(const LiveView& view) {
  std::vector<nlohmann::json> routes;
  const nlohmann::json document = nlohmann::json::parse(view.openapi());
  for (const auto& [path, methods] : document["paths"].items())
    for (const auto& [method, operation] : methods.items()) {
      std::string upper;
      for (const char c : method) upper += static_cast<char>(c - 'a' + 'A');
      bool has_stream = false;
      bool needs_stream = false;
      for (const auto& parameter : operation["parameters"])
        if (parameter["name"] == "stream") {
          has_stream = !parameter["schema"].contains("items");
          needs_stream = has_stream && parameter["required"];
        }
      routes.push_back({{"method", upper},
                        {"path", path},
                        {"role", operation.value("x-role", "")},
                        {"has_stream", has_stream},
                        {"needs_stream", needs_stream}});
    }
  return routes;
}

/// Refused for want of a role or a right to a stream.
bool is_refused(const HttpAnswer& answer) {
  return answer.status == 403 && (code_of(answer) == "role" || code_of(answer) == "stream");
}

TEST(LiveView, EveryRouteRefusesWithoutATokenAndWithALesserOne) {
  Pipeline pipeline({});
  const LiveView view(pipeline, {.tokens = all_roles()});
  int checked = 0;
  for (const nlohmann::json& route : routes_of(view)) {
    const std::string method = route["method"];
    const std::string role = route["role"];
    const std::string path = route["path"];
    if (role.empty() || path == "/api/v1/live") continue;
    ++checked;
    SCOPED_TRACE(method + " " + path);
    const auto ask = [&](const char* token, const std::string& query = "") {
      return ViewClient(view, token).ask(method, path + query);
    };
    EXPECT_EQ(ask("").status, 401);
    EXPECT_EQ(ask("a-token-that-nobody-has").status, 401);
    EXPECT_EQ(is_refused(ask(kViewer, "?stream=yard")), role != "viewer");
    EXPECT_EQ(is_refused(ask(kOperator, "?stream=yard")), role == "admin");
    EXPECT_FALSE(is_refused(ask(kAdmin, "?stream=yard")));
    if (!route["has_stream"]) continue;
    EXPECT_TRUE(is_refused(ask(kGateViewer, "?stream=yard")));
    EXPECT_TRUE(is_refused(ask(kGateOperator, "?stream=yard")));
    EXPECT_EQ(is_refused(ask(kGateOperator, "?stream=gate")), role == "admin");
    if (!route["needs_stream"]) {
      EXPECT_TRUE(is_refused(ask(kGateOperator)));
    }
  }
  EXPECT_GE(checked, 13);
}

TEST(LiveView, ALiveAnswerNeedsATokenToo) {
  Pipeline pipeline({});
  const LiveView view(pipeline, {.tokens = all_roles()});
  EXPECT_EQ(ViewClient(view).get("/api/v1/live").status, 401);
  EXPECT_EQ(ViewClient(view, kViewer).ask("HEAD", "/api/v1/live").status, 200);
}

TEST(LiveView, WithoutTokensNothingCanBeChanged) {
  Pipeline pipeline({});
  const LiveView view(pipeline, {});
  int changes = 0;
  for (const nlohmann::json& route : routes_of(view)) {
    if (route["method"] == "GET") continue;
    ++changes;
    const HttpAnswer answer =
        ViewClient(view).ask(route["method"], route["path"].get<std::string>() + "?stream=gate");
    EXPECT_EQ(answer.status, 403) << route;
    EXPECT_THAT(message_of(answer), HasSubstr("without tokens")) << route;
  }
  EXPECT_GE(changes, 7);
}

TEST(LiveView, RefusesPagesOfOtherSites) {
  Pipeline pipeline({});
  const LiveView open(pipeline, {});
  const std::string port = std::to_string(open.port());
  for (const nlohmann::json& route : routes_of(open)) {
    const std::string line = route["method"].get<std::string>() + " " +
                             route["path"].get<std::string>() + " HTTP/1.1\r\n";
    EXPECT_EQ(ViewClient(open).raw(line + "Host: evil.example\r\n\r\n").status, 403) << route;
    EXPECT_EQ(ViewClient(open)
                  .raw(line + "Host: 127.0.0.1:" + port + "\r\nOrigin: http://evil.example\r\n\r\n")
                  .status,
              403)
        << route;
  }
  EXPECT_EQ(ViewClient(open)
                .ask("GET", "/api/v1/state", {}, "Origin: http://127.0.0.1:" + port + "\r\n")
                .status,
            200);
  const LiveView view(pipeline, {.tokens = all_roles()});
  EXPECT_EQ(ViewClient(view, kAdmin).ask("DELETE", "/api/v1/streams?stream=a", {}, "").status, 403);
  EXPECT_EQ(ViewClient(view, kAdmin).ask("DELETE", "/api/v1/streams?stream=a").status, 404);
}

TEST(LiveView, AClientOfOneStreamSeesNothingOfTheOthers) {
  Pipeline pipeline({make_detector("finder", "person")});
  LiveView view(pipeline, {.tokens = all_roles()});
  SteadyFeed gate;
  SteadyFeed yard;
  open_feed(pipeline, view, gate, "gate");
  open_feed(pipeline, view, yard, "yard");
  view.log(LogLevel::warning, "stream yard is late");
  const HttpAnswer answer = ViewClient(view, kGateViewer).get("/api/v1/state");
  EXPECT_THAT(answer.body, Not(HasSubstr("yard")));
  EXPECT_THAT(answer.body, HasSubstr("gate"));
  EXPECT_THAT(ViewClient(view, kViewer).get("/api/v1/state").body, HasSubstr("yard is late"));
  EXPECT_EQ(ViewClient(view, kGateViewer).get("/api/v1/record?stream=yard").status, 403);
  pipeline.stop();
}

TEST(LiveView, MethodsThatARouteDoesNotTakeAreNamed) {
  Pipeline pipeline({});
  const LiveView view(pipeline, {});
  EXPECT_EQ(ViewClient(view).ask("PUT", "/api/v1/state").status, 405);
  EXPECT_EQ(message_of(ViewClient(view).ask("PATCH", "/api/v1/streams")),
            "/api/v1/streams takes POST, DELETE");
  EXPECT_EQ(ViewClient(view).ask("POST", "/none").status, 404);
}

}  // namespace
}  // namespace vcap::test
