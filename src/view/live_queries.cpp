// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "view/live_page.hpp"
#include "view/live_view_impl.hpp"

namespace vcap {
namespace {

constexpr const char* kJpeg = "image/jpeg";
constexpr const char* kMessages = "application/octet-stream";

const LiveRoute::Parameter kPictureWidth{
    .name = "width", .about = "The most pixels of a row: 320 (default), 640 or 1280"};

/// Removes what a client may not see.
void remove_streams(nlohmann::json& state, const std::set<std::string>& allowed) {
  for (nlohmann::json* const list : {&state["stats"]["streams"], &state["elsewhere"]})
    for (std::size_t i = list->size(); i-- > 0;)
      if (!allowed.contains((*list)[i]["id"].get<std::string>())) list->erase(i);
  for (nlohmann::json& plan : state["plans"])
    for (std::size_t i = plan["streams"].size(); i-- > 0;)
      if (!allowed.contains(plan["streams"][i].get<std::string>())) plan["streams"].erase(i);
  for (const char* const part : {"errors", "recordings"}) {
    const nlohmann::json before = state[part];
    for (const auto& [stream, value] : before.items())
      if (!allowed.contains(stream)) state[part].erase(stream);
  }
  state["log"]["lines"] = nlohmann::json::array();  // they may be about any stream
}

nlohmann::json elsewhere_json(const std::vector<ViewedStreams::Listed>& streams) {
  nlohmann::json list = nlohmann::json::array();
  for (const ViewedStreams::Listed& stream : streams)
    list.push_back({{"id", stream.id},
                    {"state", stream.state},
                    {"worker", stream.worker},
                    {"view", stream.view},
                    {"reason", stream.reason}});
  return list;
}

nlohmann::json settings_json(const StreamSettings& settings) {
  nlohmann::json capsules = nlohmann::json::array();
  for (const CapsuleSettings& one : settings.capsules)
    capsules.push_back({{"name", one.name},
                        {"version", one.version},
                        {"options", one.options},
                        {"config", one.takes_config ? *one.config : nlohmann::json()}});
  return {{"stream", settings.id},
          {"capsules", std::move(capsules)},
          {"options_can_change", settings.options_can_change},
          {"configs_can_change", settings.configs_can_change}};
}

}  // namespace

void LiveView::Impl::check_stream_exists(const std::string& stream) const {
  const std::set<std::string> known = shown.streams();
  if (known.contains(stream)) return;
  broadcast->forget(stream);
  throw LiveRefusal(404, "there is no stream " + quote(stream), "unknown_stream");
}

void LiveView::Impl::add_pages() {
  for (const LivePageFile& file : live_page_files())
    routes.push_back({.method = "GET",
                      .path = file.path,
                      .about = "A file of the page",
                      .gives = file.type,
                      .answer = [&file](const LiveCall&) {
                        return HttpAnswer{.text = std::string(file.text), .type = file.type};
                      }});
  routes.push_back(
      {.method = "GET",
       .path = "/api/v1/openapi.json",
       .about = "This document",
       .gives = kJsonType,
       .answer = [this](const LiveCall&) { return answer_of_json(vcap::openapi(routes)); }});
}

void LiveView::Impl::add_queries() {
  const auto add = [this](LiveRoute route, auto query) {
    route.method = "GET";
    route.role = ViewRole::viewer;
    route.answer = [query](const LiveCall& call) {
      if constexpr (std::is_same_v<decltype(query(call)), HttpAnswer>)
        return query(call);
      else
        return answer_of_json(query(call));
    };
    routes.push_back(std::move(route));
  };
  add({.path = "/api/v1/me", .about = "Who asks, and what it may do", .gives = kJsonType},
      [this](const LiveCall& call) { return me(call); });
  add({.path = "/api/v1/state",
       .about = "Statistics, plans, errors, recordings, log, and streams that others run",
       .parameters = {{.name = "log", .about = "Only log lines from this number on"}},
       .gives = kJsonType},
      [this](const LiveCall& call) {
        constexpr double kMostLines = 1e15;
        return state(call.client.streams,
                     static_cast<std::uint64_t>(call.number("log", 0, 0, kMostLines)));
      });
  add({.path = "/api/v1/capsules",
       .about = "The capsules, and the JSON Schemas of their options and configs",
       .gives = kJsonType},
      [this](const LiveCall&) { return capsules(); });
  add({.path = "/api/v1/settings",
       .streams = LiveRoute::Streams::one,
       .about = "The options and configs that the stream has now",
       .parameters = {kStreamParameter},
       .gives = kJsonType},
      [this](const LiveCall& call) {
        return settings_json(shown.stream_settings(call.argument("stream")));
      });
  add({.path = "/api/v1/picture",
       .streams = LiveRoute::Streams::one,
       .about = "The newest picture; 404 until there is one after the first request",
       .parameters = {kStreamParameter, kPictureWidth},
       .gives = kJpeg},
      [this](const LiveCall& call) { return picture(call); });
  add({.path = "/api/v1/record",
       .streams = LiveRoute::Streams::one,
       .about = "The newest record; 404 until there is one after the first request",
       .parameters = {kStreamParameter},
       .gives = kJsonType},
      [this](const LiveCall& call) { return record(call); });
  add({.path = "/api/v1/live",
       .about = "Pictures, records and states as they come, without an end: messages, each a line "
                "of JSON and as many bytes as it says",
       .parameters = {{.name = "stream",
                       .about = "Only these streams; default: all that the token is for",
                       .is_list = true},
                      {.name = "large", .about = "A stream to see 1280 wide, with its records"},
                      kPictureWidth,
                      {.name = "rate", .about = "Pictures a second of each stream, 0.1 to 30"}},
       .gives = kMessages},
      [this](const LiveCall& call) { return live(call); });
}

nlohmann::json LiveView::Impl::me(const LiveCall& call) const {
  const bool is_operator = shown.can_change() && call.client.role >= ViewRole::operator_;
  const bool is_admin = shown.can_change() && call.client.role >= ViewRole::admin;
  nlohmann::json json{{"name", call.client.name},
                      {"role", to_string(call.client.role)},
                      {"login", access.needs_token()},
                      {"streams", nullptr},
                      {"can",
                       {{"change", is_operator},
                        {"add_sources", is_admin && !settings.sources.empty()},
                        {"upload", is_admin && settings.upload_options},
                        {"record", is_operator && settings.make_recording}}}};
  if (call.client.streams) json["streams"] = *call.client.streams;
  return json;
}

nlohmann::json LiveView::Impl::state(const std::optional<std::set<std::string>>& allowed,
                                     std::uint64_t log_from) const {
  const PipelineStats stats = shown.stats();
  inputs->errors.keep(shown.streams());
  nlohmann::json state{{"uptime_s", std::chrono::duration<double>(stats.uptime).count()},
                       {"stats", stats},
                       {"plans", shown.plans()},
                       {"elsewhere", elsewhere_json(shown.elsewhere())},
                       {"viewers", broadcast->viewers()},
                       {"recordings", inputs->recordings.json()},
                       {"errors", inputs->errors.json()},
                       {"log", log.json(log_from)}};
  if (allowed) remove_streams(state, *allowed);
  return state;
}

nlohmann::json LiveView::Impl::capsules() const {
  nlohmann::json list = nlohmann::json::array();
  for (const CapsuleInfo& info : shown.capsules())
    list.push_back({{"name", info.name},
                    {"version", info.version},
                    {"description", info.description},
                    {"options", options_schema(info.options)},
                    {"stream_config_schema", *info.stream_config_schema},
                    {"stateful", static_cast<bool>(info.stream_state)}});
  return {{"capsules", std::move(list)}};
}

HttpAnswer LiveView::Impl::live(const LiveCall& call) {
  constexpr double kDefaultRate = 10;
  constexpr double kWidest = 1e6;
  const double rate = call.number("rate", kDefaultRate, 0.1, 30);
  const std::vector<std::string> streams = call.arguments("stream");
  LiveInterest interest{.width = live_width(static_cast<int>(call.number("width", 0, 0, kWidest))),
                        .interval = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                            std::chrono::duration<double>(1 / rate)),
                        .streams = {streams.begin(), streams.end()},
                        .large = call.argument("large")};
  if (call.request.method == "HEAD") return {.type = kMessages};
  return {.type = kMessages,
          .stream = broadcast->add_viewer(std::move(interest), call.client.streams)};
}

HttpAnswer LiveView::Impl::picture(const LiveCall& call) {
  const std::string stream = call.argument("stream");
  check_stream_exists(stream);
  constexpr double kWidest = 1e6;
  const int width = live_width(static_cast<int>(call.number("width", 0, 0, kWidest)));
  const std::optional<LivePicture> picture = broadcast->picture(stream, width);
  if (!picture) throw LiveRefusal(404, "there is no picture yet; ask again", "no_picture");
  return {.text = *picture->jpeg, .type = kJpeg};
}

HttpAnswer LiveView::Impl::record(const LiveCall& call) {
  const std::string stream = call.argument("stream");
  check_stream_exists(stream);
  const std::optional<FrameRecord> record = broadcast->record(stream);
  if (!record) throw LiveRefusal(404, "there is no record yet; ask again", "no_record");
  return answer_of_json(*record);
}

}  // namespace vcap
