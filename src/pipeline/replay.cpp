// SPDX-License-Identifier: Apache-2.0
#include "vcap/pipeline/replay.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "capsule/output_check.hpp"
#include "capsule/stream_states.hpp"
#include "model/json_view.hpp"
#include "pipeline/objects_source.hpp"
#include "pipeline/recorded_run.hpp"
#include "pipeline/replay_source.hpp"
#include "pipeline/stand_in.hpp"
#include "records/frame_objects.hpp"
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

/// What would be refused as the output of a capsule is refused in a file.
std::shared_ptr<const GivenObjects> read_given(const ObjectsFile& file) {
  // It may give back whatever it takes, so only values are checked.
  const detail::OutputCheck values({.name = Replay::kObjectsCapsule,
                                    .version = 1,
                                    .input_type = {.size = NodeDescription::Size::all},
                                    .output_type = {.size = NodeDescription::Size::all}});
  return std::make_shared<const GivenObjects>(
      file, [&values](const std::vector<DetectionNode>& objects) {
        const DetectionNodes nodes = DetectionNodes::all(objects);
        detail::PassedOn passed_on;
        values.note(nodes, passed_on);
        std::string warning;
        values.check(nodes, passed_on, {}, warning);
      });
}

/// What the capsule needs and neither the objects have nor another one gives; empty if nothing.
std::string missing_for(const CapsuleInfo& info, const NodeDescription& given,
                        std::span<const std::shared_ptr<Capsule>> capsules,
                        const std::set<std::string>& stand_ins) {
  NodeDescription needs = info.input_type;
  const auto take = [&needs](const NodeDescription& has) {
    needs = needs.difference(has);
    for (const auto& [category, values] : has.attributes) needs.attributes.erase(category);
  };
  take(given);
  for (const std::shared_ptr<Capsule>& other : capsules)
    if (other->name() != info.name && !stand_ins.contains(other->name()))
      take(other->info().output_type);
  if (needs.tracked) return "a track_id";
  if (needs.encoded) return "an encoding";
  if (!needs.attributes.empty()) return "the attribute " + needs.attributes.begin()->first;
  if (!needs.keypoints.empty()) return "the keypoint " + needs.keypoints.front();
  if (!needs.extra_data.empty()) return quote(needs.extra_data.front()) + " in extra_data";
  return {};
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
      name_("recording " + folder_),
      settings_(std::move(settings)),
      manifest_(read_recording_manifest(folder_)) {
  if (settings_.from.empty()) {
    if (settings_.objects.empty()) return;
    throw InvalidArgument(ErrorCode::invalid_argument,
                          name_ +
                              ": objects stand in for the results of capsules; say up to which "
                              "one (ReplaySettings::from, --from)");
  }
  static_cast<void>(recorded(settings_.from));  // refuses an unknown one
  std::vector<CapsuleInfo> infos;
  for (const RecordedCapsule& capsule : manifest_.capsules)
    infos.push_back(capsule.info->get<CapsuleInfo>());
  const Plan plan(infos, manifest_.leave_out ? UnfitPolicy::leave_out : UnfitPolicy::refuse);
  for (const Plan::Step& step : plan.steps()) {
    stand_ins_.insert(step.name);
    if (step.name != settings_.from) continue;
    read_objects();
    return;
  }
  throw InvalidArgument(ErrorCode::invalid_argument,
                        name_ + ": capsule " + settings_.from +
                            " was left out of the recorded run; begin after another one");
}

Replay Replay::of_objects(const ObjectsFile& objects, ReplaySettings settings) {
  const std::string path = objects.path;
  Replay replay;
  replay.name_ = "file " + path;
  if (!settings.from.empty() || settings.accept_changed || !settings.objects.empty())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          replay.name_ +
                              ": from, accept_changed and objects are for recordings, and this is "
                              "a file of objects; leave them out");
  const auto given = read_given(objects);
  CapsuleInfo info{.name = kObjectsCapsule,
                   .version = 1,
                   .description = "Gives the objects of " + path,
                   .output_type = given->nodes()};
  if (given->nodes().encoded) info.recognition_threshold = 0;  // the file does not say it
  try {
    static_cast<void>(make_stand_in(info));
  } catch (const InvalidCapsuleError& error) {
    given->file().fail("", error.what());
  }
  replay.manifest_.capsules.push_back(
      {.name = info.name, .version = info.version, .info = nlohmann::json(info)});
  for (const std::string& id : given->streams()) {
    replay.manifest_.streams.push_back({.id = id, .seed = detail::seed_of(id)});  // as if it ran
    replay.objects_.emplace(id, given);
  }
  for (auto& [id, source] : settings.sources) {
    const std::string stream = replay.stream_of(id);
    std::string& place =
        std::ranges::find(replay.manifest_.streams, stream, &RecordedStream::id)->source;
    replay.refuse_second(!place.empty(), "source", stream);
    place = source;
  }
  replay.settings_.options = std::move(settings.options);
  replay.stand_ins_.insert(info.name);
  return replay;
}

/// Reads the files of settings_.objects. Throws InvalidArgument if they do not fit.
void Replay::read_objects() {
  std::set<std::string> names;
  for (const RecordedCapsule& capsule : manifest_.capsules)
    if (stand_ins_.contains(capsule.name))
      for (std::string& name : capsule.info->get<CapsuleInfo>().output_type.detections)
        names.insert(std::move(name));
  for (const auto& [id, file] : settings_.objects) {
    const std::string stream = stream_of(id);
    refuse_second(objects_.contains(stream), "file of objects", stream);
    const auto given = read_given(file);
    for (const std::string& name : given->nodes().detections)
      if (!names.contains(name))
        given->file().fail("", "it has objects with the name " + quote(name) +
                                   ", which the capsules up to " + settings_.from +
                                   " do not give; they give " + quote_list(names) +
                                   "; leave these objects out or rename them "
                                   "(ObjectsFile::names, --name)");
    if (given->streams().size() > 1 && !given->streams().contains(stream))
      given->file().fail(
          "", "it has no stream " + quote(stream) + "; it has " + quote_list(given->streams()));
    objects_.emplace(stream, given);
  }
}

const RecordedStream& Replay::recorded_stream(const std::string& id) const {
  const auto found = std::ranges::find(manifest_.streams, id, &RecordedStream::id);
  if (found != manifest_.streams.end()) return *found;
  throw InvalidArgument(ErrorCode::invalid_argument,
                        name_ + " has no stream " + quote(id) + "; it has " +
                            quote_list(names_in(manifest_.streams, &RecordedStream::id)));
}

const RecordedCapsule& Replay::recorded(const std::string& capsule) const {
  const auto found = std::ranges::find(manifest_.capsules, capsule, &RecordedCapsule::name);
  if (found != manifest_.capsules.end()) return *found;
  const auto names = names_in(manifest_.capsules, &RecordedCapsule::name);
  throw InvalidArgument(ErrorCode::invalid_argument, name_ + " has no capsule " + quote(capsule) +
                                                         suggestion(capsule, names) + "; it has " +
                                                         quote_list(names));
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

/// The stream of that id; of an empty one, the only stream. Throws InvalidArgument.
std::string Replay::stream_of(const std::string& id) const {
  if (!id.empty()) return recorded_stream(id).id;
  if (manifest_.streams.size() == 1) return manifest_.streams.front().id;
  throw InvalidArgument(ErrorCode::invalid_argument,
                        name_ + " has several streams, " +
                            quote_list(names_in(manifest_.streams, &RecordedStream::id)) +
                            "; say for which one (STREAM=PATH)");
}

void Replay::refuse_second(bool is_second, const char* what, const std::string& stream) const {
  if (is_second)
    throw InvalidArgument(ErrorCode::invalid_argument, name_ + ": stream " + quote(stream) +
                                                           " has a " + what + " already; give one");
}

/// The frames of a stream whose objects are given without a recording.
std::unique_ptr<Source> Replay::open_given(const std::string& id) const {
  const std::string& path = recorded_stream(id).source;
  const std::string what = "stream " + id + " of " + name_;
  if (path.empty())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          what +
                              ": give the source of its frames (ReplaySettings::sources, "
                              "--source " +
                              id + "=PATH)");
  auto source = open_source(path);
  if (source->info().live)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          what + ": " + path +
                              " is live, and its frames are others than those with the objects; "
                              "give a stored source");
  return source;
}

StreamConfig Replay::stream(const std::string& id,
                            std::span<const std::shared_ptr<Capsule>> capsules,
                            const std::map<std::string, JsonValue>& configs) const {
  const RecordedStream& recorded = recorded_stream(id);
  StreamConfig config{.id = id, .capsules = recorded.capsules, .overflow = OverflowPolicy::wait};
  ReplaySource::Rules rules{.accept_changed = settings_.accept_changed};
  for (const std::shared_ptr<Capsule>& capsule : capsules) {
    OptionValues values = capsule->default_options();
    if (const auto own = recorded.options->find(capsule->name()); own != recorded.options->end())
      values.merge(*own);
    for (const ReplayOption& one : settings_.options) {
      if (one.capsule != capsule->name() || !(one.stream.empty() || one.stream == id)) continue;
      set_value(values, one.option, one.value);
      rules.own_options.insert(one.capsule + "." + one.option);
    }
    config.options.emplace(capsule->name(), std::move(values));
    if (const auto own = recorded.config->find(capsule->name());
        own != recorded.config->end() && !stand_ins_.contains(capsule->name()))
      config.config[capsule->name()] = *own;
  }
  for (const auto& [capsule, own] : configs) {
    config.config[capsule] = own;
    rules.own_configs.insert(capsule);
  }
  read_policies(*recorded.policies, config);
  config.seed = recorded.seed;
  const auto frames = std::make_shared<ReplayFrames>(stand_ins_);
  const bool is_recording = !folder_.empty();
  if (is_recording)
    config.source = std::make_unique<ReplaySource>(folder_, recorded, open_file(recorded), frames,
                                                   std::move(rules));
  else
    config.source = open_given(id);
  if (const auto given = objects_.find(id); given != objects_.end()) {
    for (const std::shared_ptr<Capsule>& capsule : capsules) {
      const std::string& name = capsule->name();
      const bool runs = !manifest_.leave_out && !stand_ins_.contains(name) &&
                        (!config.capsules || std::ranges::count(*config.capsules, name) > 0);
      const std::string missing =
          runs ? missing_for(capsule->info(), given->second->nodes(), capsules, stand_ins_)
               : std::string();
      if (!missing.empty())
        given->second->file().fail("", "capsule " + name + " needs " + missing +
                                           ", which no object has; give objects that have it");
    }
    // A file may call its only stream otherwise.
    const std::set<std::string>& streams = given->second->streams();
    const std::string& own = streams.size() == 1 ? *streams.begin() : id;
    FrameObjects objects(given->second, own, config.source->info().frames);
    config.source = std::make_unique<ObjectsSource>(std::move(config.source), std::move(objects),
                                                    frames, is_recording);
  }
  config.recorded = frames;
  return config;
}

}  // namespace vcap
