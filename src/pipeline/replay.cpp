// SPDX-License-Identifier: Apache-2.0
#include "vcap/pipeline/replay.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "model/json_view.hpp"
#include "pipeline/recorded_run.hpp"
#include "pipeline/replay_source.hpp"
#include "pipeline/stand_in.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAcceptRemedy =
    ", or accept the changed one (ReplaySettings::accept_changed, --accept-changed)";

/// The file as it is now. Throws SourceError unless it is the recorded one.
void check_same(const std::string& what, const std::string& path, const RecordedFile& recorded,
                const std::string& remedy) {
  const RecordedFile now = describe_file(path);
  if (now.sha256 == recorded.sha256) return;
  throw SourceError(ErrorCode::source_open,
                    what + ": " + path + " is not the recorded file: it has " +
                        counted(static_cast<std::int64_t>(now.size), "byte") + " with SHA-256 " +
                        now.sha256 + ", the recorded one has " +
                        counted(static_cast<std::int64_t>(recorded.size), "byte") + " with " +
                        recorded.sha256 + "; " + remedy + kAcceptRemedy);
}

void check_exists(const std::string& what, const std::string& path, const std::string& remedy) {
  std::error_code unknown;
  if (!fs::is_regular_file(path, unknown))
    throw SourceError(ErrorCode::source_open,
                      what + ": " + path + ", which was recorded, does not exist; " + remedy);
}

std::chrono::nanoseconds time_in(const JsonView& json, const char* key) {
  return std::chrono::nanoseconds(json[key].integer());
}

std::size_t natural_in(const JsonView& json, const char* key) {
  const std::int64_t value = json[key].integer();
  if (value < 0) json[key].fail("a whole number from 0");
  return static_cast<std::size_t>(value);
}

void read_policies(const nlohmann::json& json, StreamConfig& config) {
  if (json.empty()) return;
  const JsonView view(json);
  const JsonView quarantine = view["quarantine"];
  config.quarantine = {.failures = natural_in(quarantine, "failures"),
                       .window = time_in(quarantine, "window_ns"),
                       .pause = time_in(quarantine, "pause_ns")};
  config.capsule_deadline = time_in(view, "capsule_deadline_ns");
  config.first_call_deadline = time_in(view, "first_call_deadline_ns");
}

/// Sets a value; text is read as the option's type needs it.
void set_value(OptionValues& values, const std::string& option, const OptionValue& value) {
  if (const auto* const text = std::get_if<std::string>(&value))
    values.set_from_text(option, *text);
  else
    values.set(option, value);
}

template <class List>
std::vector<std::string> names_in(const List& list, std::string List::value_type::*name) {
  std::vector<std::string> names;
  names.reserve(list.size());
  for (const auto& one : list) names.push_back(one.*name);
  return names;
}

}  // namespace

SourceOptions source_options_from_json(const nlohmann::json& json) {
  const JsonView view(json);
  SourceOptions options{.start = time_in(view, "start_ns"),
                        .end = {},
                        .stride = view["stride"].integer(),
                        .loop = view["loop"].integer(),
                        .max_pixels = view["max_pixels"].integer()};
  if (view.find("end_ns")) options.end = time_in(view, "end_ns");
  if (view["hardware"].boolean()) options.hardware = HardwareDecoding::automatic;
  return options;
}

Replay::Replay(std::string folder, ReplaySettings settings)
    : folder_(std::move(folder)),
      settings_(std::move(settings)),
      manifest_(read_recording_manifest(folder_)) {
  if (settings_.from.empty()) return;
  static_cast<void>(recorded(settings_.from));  // refuses an unknown one
  std::vector<CapsuleInfo> infos;
  for (const RecordedCapsule& capsule : manifest_.capsules)
    infos.push_back(capsule.info->get<CapsuleInfo>());
  const Plan plan(infos, manifest_.leave_out ? UnfitPolicy::leave_out : UnfitPolicy::refuse);
  for (const Plan::Step& step : plan.steps()) {
    stand_ins_.insert(step.name);
    if (step.name == settings_.from) return;
  }
  throw InvalidArgument(ErrorCode::invalid_argument,
                        "recording " + folder_ + ": capsule " + settings_.from +
                            " was left out of the recorded run; begin after another one");
}

const RecordedCapsule& Replay::recorded(const std::string& capsule) const {
  const auto found = std::ranges::find(manifest_.capsules, capsule, &RecordedCapsule::name);
  if (found != manifest_.capsules.end()) return *found;
  const auto names = names_in(manifest_.capsules, &RecordedCapsule::name);
  throw InvalidArgument(ErrorCode::invalid_argument,
                        "recording " + folder_ + " has no capsule " + quote(capsule) +
                            suggestion(capsule, names) + "; it has " + quote_list(names));
}

Pipeline::Settings Replay::pipeline_settings() const {
  Pipeline::Settings settings{.unfit = manifest_.leave_out ? UnfitPolicy::leave_out
                                                           : UnfitPolicy::refuse};
  if (manifest_.outputs.empty()) return settings;
  const JsonView view(*manifest_.outputs);
  OutputPolicy& outputs = settings.outputs.emplace();
  for (const auto one : {InvalidOutput::error, InvalidOutput::warn, InvalidOutput::off})
    if (view["invalid"].text() == to_string(one)) outputs.invalid = one;
  outputs.max_nodes = natural_in(view, "max_nodes");
  outputs.max_bytes = natural_in(view, "max_bytes");
  outputs.max_picture_bytes = natural_in(view, "max_picture_bytes");
  return settings;
}

std::shared_ptr<Capsule> Replay::stand_in(const std::string& capsule) const {
  return make_stand_in(recorded(capsule).info->get<CapsuleInfo>());
}

std::string Replay::capsule_file(const std::string& capsule) const {
  const RecordedCapsule& recorded = this->recorded(capsule);
  const std::string what = "capsule " + capsule;
  const std::string remedy = "give the file (--capsule PATH)";
  if (!recorded.file)
    throw SourceError(ErrorCode::source_open,
                      what + " was not loaded from a file in the recorded run; " + remedy);
  std::string path =
      recorded.copy.empty() ? recorded.file->path : (fs::path(folder_) / recorded.copy).string();
  check_exists(what, path, remedy);
  if (!settings_.accept_changed) check_same(what, path, *recorded.file, remedy);
  return path;
}

void Replay::apply_load_options(const std::string& capsule, LoadOptions& options) const {
  const RecordedCapsule& recorded = this->recorded(capsule);
  options.config = recorded.config;
  if (recorded.stencil.is_null()) return;
  const JsonView view(*recorded.stencil);
  Stencil& stencil = options.stencil.emplace();
  for (const JsonView& offset : view["offsets"].elements())
    stencil.offsets.push_back(static_cast<int>(offset.integer()));
  for (const auto one : {StencilEdge::repeat, StencilEdge::null, StencilEdge::error})
    if (view["edge"].text() == to_string(one)) stencil.edge = one;
}

/// Null if the recording has the pictures.
std::unique_ptr<Source> Replay::open_file(const RecordedStream& stream) const {
  if (!stream.file) return nullptr;
  const auto moved = settings_.sources.find(stream.id);
  const std::string& path = moved == settings_.sources.end() ? stream.file->path : moved->second;
  const std::string what = "source of stream " + stream.id;
  const std::string remedy = "give the file (--source " + stream.id + "=PATH)";
  check_exists(what, path, remedy);
  if (!settings_.accept_changed) check_same(what, path, *stream.file, remedy);
  return open_source(path, source_options_from_json(*stream.source_options));
}

StreamConfig Replay::stream(const std::string& id,
                            std::span<const std::shared_ptr<Capsule>> capsules,
                            const std::map<std::string, JsonValue>& configs) const {
  const auto found = std::ranges::find(manifest_.streams, id, &RecordedStream::id);
  if (found == manifest_.streams.end())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "recording " + folder_ + " has no stream " + quote(id) + "; it has " +
                              quote_list(names_in(manifest_.streams, &RecordedStream::id)));
  StreamConfig config{.id = id, .capsules = found->capsules, .overflow = OverflowPolicy::wait};
  ReplaySource::Rules rules{.accept_changed = settings_.accept_changed};
  for (const std::shared_ptr<Capsule>& capsule : capsules) {
    OptionValues values = capsule->default_options();
    if (const auto own = found->options->find(capsule->name()); own != found->options->end())
      values.merge(*own);
    for (const ReplayOption& one : settings_.options) {
      if (one.capsule != capsule->name() || !(one.stream.empty() || one.stream == id)) continue;
      set_value(values, one.option, one.value);
      rules.own_options.insert(one.capsule + "." + one.option);
    }
    config.options.emplace(capsule->name(), std::move(values));
    if (const auto own = found->config->find(capsule->name());
        own != found->config->end() && !stand_ins_.contains(capsule->name()))
      config.config[capsule->name()] = *own;
  }
  for (const auto& [capsule, own] : configs) {
    config.config[capsule] = own;
    rules.own_configs.insert(capsule);
  }
  read_policies(*found->policies, config);
  config.seed = found->seed;
  const auto frames = std::make_shared<ReplayFrames>(stand_ins_);
  config.source =
      std::make_unique<ReplaySource>(folder_, *found, open_file(*found), frames, std::move(rules));
  config.recorded = frames;
  return config;
}

}  // namespace vcap
