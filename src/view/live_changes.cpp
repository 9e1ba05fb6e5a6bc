// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "vcap/base/error.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/loading/manifest.hpp"
#include "view/live_sources.hpp"
#include "view/live_view_impl.hpp"

namespace vcap {
namespace {

constexpr std::size_t kMostJsonBytes = std::size_t{256} << 10;

const LiveRoute::Parameter kCapsule{
    .name = "capsule", .required = true, .about = "The capsule's name"};

/// The values of the option's declaration and of the JSON value. Throws OptionError.
OptionValue option_value(const CapsuleInfo& info, const std::string& option,
                         const nlohmann::json& value) {
  OptionValues values(info.options, "capsule " + info.name);
  values.merge({{option, value}});
  return values.get(option);
}

std::map<std::string, JsonValue> configs_of(const nlohmann::json& json) {
  std::map<std::string, JsonValue> configs;
  for (const auto& [capsule, config] : json.items()) configs[capsule] = config;
  return configs;
}

/// What a client gives for a new stream.
void check_new_stream(const nlohmann::json& json) {
  const auto is_object_of = [&](const char* name, bool optional) {
    return json.contains(name) ? json[name].is_object() : optional;
  };
  const bool has_texts = json.is_object() && json.contains("id") && json["id"].is_string() &&
                         json.contains("source") && json["source"].is_string();
  if (!has_texts || !is_object_of("options", true) || !is_object_of("config", true) ||
      (json.contains("capsules") && !json["capsules"].is_array()))
    throw LiveRefusal(422,
                      "a stream is {\"id\": …, \"source\": …}, and perhaps \"capsules\": […], "
                      "\"options\": {capsule: {…}} and \"config\": {capsule: {…}}",
                      "invalid_json");
  for (const auto& [name, value] : json.items())
    if (name != "id" && name != "source" && name != "capsules" && name != "options" &&
        name != "config")
      throw LiveRefusal(422, "a stream has no field " + quote(name), "invalid_json");
  constexpr std::size_t kLongestId = 256;
  const auto& id = json["id"].get_ref<const std::string&>();
  if (id.empty() || id.size() > kLongestId)
    throw LiveRefusal(422, "a stream's id has 1 to 256 bytes, not " + std::to_string(id.size()),
                      "invalid_argument");
}

}  // namespace

void LiveView::Impl::add_changes() {
  const auto add = [this](LiveRoute route, auto change) {
    route.role = ViewRole::operator_;
    route.gives = kJsonType;
    route.is_slow = true;
    route.answer = [change](const LiveCall& call) { return answer_of_json(change(call)); };
    routes.push_back(std::move(route));
  };
  add({.method = "PUT",
       .path = "/api/v1/option",
       .streams = LiveRoute::Streams::perhaps,
       .about = "Changes an option; gives the first frame of each stream that can have it",
       .parameters = {kCapsule,
                      {.name = "option", .required = true, .about = "The option's name"},
                      {.name = "stream", .about = "The stream's id; default: all streams"}},
       .body = "The value",
       .most_bytes = kMostJsonBytes},
      [this](const LiveCall& call) { return set_option(call); });
  add({.method = "PUT",
       .path = "/api/v1/config",
       .streams = LiveRoute::Streams::one,
       .about = "Changes the config that a capsule has for a stream; a wrong one changes nothing",
       .parameters = {kCapsule, kStreamParameter},
       .body = "The config, an object",
       .most_bytes = kMostJsonBytes},
      [this](const LiveCall& call) { return set_config(call); });
  add({.method = "POST",
       .path = "/api/v1/recording",
       .streams = LiveRoute::Streams::one,
       .about = "Starts to record a stream",
       .parameters = {kStreamParameter}},
      [this](const LiveCall& call) { return start_recording(call); });
  add({.method = "DELETE",
       .path = "/api/v1/recording",
       .streams = LiveRoute::Streams::one,
       .about = "Stops to record a stream, and completes the files",
       .parameters = {kStreamParameter}},
      [this](const LiveCall& call) { return stop_recording(call); });
}

void LiveView::Impl::add_admin_changes() {
  const auto add = [this](LiveRoute route, auto change, unsigned status) {
    route.role = ViewRole::admin;
    route.gives = kJsonType;
    route.is_slow = true;
    route.answer = [change, status](const LiveCall& call) {
      return answer_of_json(change(call), status);
    };
    routes.push_back(std::move(route));
  };
  add(
      {.method = "POST",
       .path = "/api/v1/streams",
       .about = "Adds a stream",
       .body = "{\"id\", \"source\"}, and perhaps \"capsules\", \"options\" and \"config\"",
       .most_bytes = kMostJsonBytes},
      [this](const LiveCall& call) { return add_stream(call); }, 201);
  add(
      {.method = "DELETE",
       .path = "/api/v1/streams",
       .streams = LiveRoute::Streams::one,
       .about = "Removes a stream; its frames in flight are completed",
       .parameters = {kStreamParameter}},
      [this](const LiveCall& call) { return remove_stream(call); }, 200);
  add(
      {.method = "PUT",
       .path = "/api/v1/capsule",
       .about = "Replaces the capsule of the same name in all streams",
       .parameters = {{.name = "trial",
                       .about = "Frames over all streams within which a failure brings the old "
                                "capsule back; default 0: no trial"}},
       .body = "The bytes of a signed .cap file",
       .most_bytes = settings.upload_options ? settings.upload_bytes : 0,
       .in_file = true},
      [this](const LiveCall& call) { return replace_capsule(call); }, 200);
}

nlohmann::json LiveView::Impl::set_option(const LiveCall& call) {
  Pipeline& pipeline = shown.changeable();
  const std::string capsule = call.argument("capsule");
  const std::string option = call.argument("option");
  const nlohmann::json body = call.body();
  const std::vector<CapsuleInfo> infos = pipeline.capsules();
  const auto info = std::ranges::find(infos, capsule, &CapsuleInfo::name);
  if (info == infos.end())
    throw LiveRefusal(404, "there is no capsule " + quote(capsule), "unknown_capsule");
  const OptionValue value = option_value(*info, option, body);
  nlohmann::json frames = nlohmann::json::object();
  if (call.has("stream")) {
    const std::string stream = call.argument("stream");
    frames[stream] = pipeline.set_option(stream, capsule, option, value);
    return {{"frames", std::move(frames)}};
  }
  for (const std::string& stream : shown.streams()) {
    try {
      frames[stream] = pipeline.set_option(stream, capsule, option, value);
    } catch (const SourceError&) {      // it has just ended
    } catch (const InvalidArgument&) {  // it does not go through the capsule
    }
  }
  return {{"frames", std::move(frames)}};
}

nlohmann::json LiveView::Impl::set_config(const LiveCall& call) {
  const nlohmann::json config = call.body();
  if (!config.is_object())
    throw LiveRefusal(422, "a config is a JSON object, such as {\"line\": [[0, 0.5], [1, 0.5]]}",
                      "invalid_json");
  return {{"frame", shown.changeable().set_config(call.argument("stream"), call.argument("capsule"),
                                                  config)}};
}

nlohmann::json LiveView::Impl::add_stream(const LiveCall& call) {
  Pipeline& pipeline = shown.changeable();
  const nlohmann::json json = call.body();
  check_new_stream(json);
  const std::string id = json["id"];
  std::unique_ptr<Source> source =
      open_allowed_source(settings.sources, json["source"].get<std::string>());
  StreamConfig config;
  if (settings.make_stream) {
    config = settings.make_stream(id, std::move(source));
  } else {
    config.id = id;
    config.source = std::move(source);
  }
  if (json.contains("capsules")) config.capsules = json["capsules"].get<std::vector<std::string>>();
  if (json.contains("config"))
    for (auto& [capsule, own] : configs_of(json["config"])) config.config[capsule] = own;
  if (json.contains("options")) {
    for (const CapsuleInfo& info : pipeline.capsules()) {
      const auto own = json["options"].find(info.name);
      if (own == json["options"].end()) continue;
      config.options.try_emplace(info.name, info.options, "capsule " + info.name)
          .first->second.merge(*own);
    }
  }
  config.sinks.push_back(sink());
  if (settings.open_stream)
    settings.open_stream(std::move(config));
  else
    pipeline.open_stream(std::move(config));
  return {{"stream", id}};
}

nlohmann::json LiveView::Impl::remove_stream(const LiveCall& call) {
  Pipeline& pipeline = shown.changeable();
  const std::string stream = call.argument("stream");
  const StreamReport report =
      settings.close_stream ? settings.close_stream(stream) : pipeline.close_stream(stream);
  inputs->recordings.stop(stream);
  return {{"stream", stream}, {"frames", report.frames}};
}

LoadOptions LiveView::Impl::upload_options(const std::string& capsule) const {
  if (!settings.upload_options)
    throw LiveRefusal(403,
                      "the view was started without uploads; they need a policy that requires "
                      "signatures, and keys",
                      "uploads");
  LoadOptions options = settings.upload_options(capsule);
  if (!options.trust.require_signature || options.trust.keys.empty())
    throw LiveRefusal(403, "uploads need a trust policy that requires signatures, and has keys",
                      "uploads");
  return options;
}

nlohmann::json LiveView::Impl::replace_capsule(const LiveCall& call) {
  Pipeline& pipeline = shown.changeable();
  // Before anything of the file is read, without the config of a capsule that is not known yet.
  const LoadOptions unnamed = upload_options({});
  constexpr double kLongestTrial = 1e9;
  const auto trial = static_cast<std::int64_t>(call.number("trial", 0, 0, kLongestTrial));
  const std::string path = call.request.body_file.string();
  const std::string name = read_manifest(path, unnamed).info.name;
  const std::vector<CapsuleInfo> infos = pipeline.capsules();
  const auto info = std::ranges::find(infos, name, &CapsuleInfo::name);
  if (info == infos.end())
    throw LiveRefusal(404, "there is no capsule " + quote(name) + " that the upload could replace",
                      "unknown_capsule");
  const int from = info->version;
  const std::shared_ptr<Capsule> capsule = load_capsule(path, upload_options(name));
  const auto frames = pipeline.replace_capsule(capsule, {.trial_frames = trial});
  return {{"capsule", name},
          {"from_version", from},
          {"to_version", capsule->info().version},
          {"frames", frames}};
}

nlohmann::json LiveView::Impl::start_recording(const LiveCall& call) {
  const std::string stream = call.argument("stream");
  if (!settings.make_recording)
    throw LiveRefusal(403, "the view was started without recordings", "recordings");
  check_stream_exists(stream);
  if (inputs->recordings.has(stream))
    throw LiveRefusal(409, "the stream " + quote(stream) + " is being recorded already",
                      "recordings");
  ViewRecording recording = settings.make_recording(stream);
  const std::vector<std::string> files = recording.files;
  if (!inputs->recordings.start(stream, std::move(recording)))
    throw LiveRefusal(409, "the stream " + quote(stream) + " is being recorded already",
                      "recordings");
  return {{"stream", stream}, {"files", files}};
}

nlohmann::json LiveView::Impl::stop_recording(const LiveCall& call) {
  const std::string stream = call.argument("stream");
  const auto files = inputs->recordings.stop(stream);
  if (!files)
    throw LiveRefusal(404, "the stream " + quote(stream) + " is not being recorded", "recordings");
  return {{"stream", stream}, {"files", *files}};
}

}  // namespace vcap
