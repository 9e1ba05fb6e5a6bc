// SPDX-License-Identifier: Apache-2.0
// What a recording says about a run.
#include <filesystem>
#include <random>
#include <system_error>

#include <nlohmann/json.hpp>

#include "capsule/stream_states.hpp"
#include "pipeline/recorded_run.hpp"
#include "vcap/base/error.hpp"
#include "vcap/pipeline/replay.hpp"

namespace vcap {
namespace {

std::uint64_t fresh_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

/// Whether the frames can be read again, by this name and options.
bool can_be_reopened(const SourceInfo& info, const std::string& name,
                     const SourceOptions& options) {
  std::error_code unknown;
  return !name.empty() && !info.live && !info.fed &&
         std::filesystem::is_regular_file(name, unknown) && options.sampler.is_all();
}

nlohmann::json policies_of(const StreamConfig& config) {
  return {{"quarantine",
           {{"failures", config.quarantine.failures},
            {"window_ns", config.quarantine.window.count()},
            {"pause_ns", config.quarantine.pause.count()}}},
          {"capsule_deadline_ns", config.capsule_deadline.count()},
          {"first_call_deadline_ns", config.first_call_deadline.count()}};
}

}  // namespace

nlohmann::json source_options_to_json(const SourceOptions& options) {
  nlohmann::json json{{"start_ns", options.start.count()},
                      {"stride", options.stride},
                      {"loop", options.loop},
                      {"hardware", options.hardware == HardwareDecoding::automatic},
                      {"max_pixels", options.max_pixels}};
  if (options.end) json["end_ns"] = options.end->count();
  return json;
}

RecordedCapsule recorded_capsule(const Capsule& capsule, const std::string& path,
                                 const LoadOptions& options) {
  RecordedCapsule recorded{.name = capsule.name(),
                           .version = capsule.info().version,
                           .info = nlohmann::json(capsule.info()),
                           .config = options.config};
  if (!path.empty()) recorded.file = describe_file(path);
  if (options.stencil)
    recorded.stencil = nlohmann::json{{"offsets", options.stencil->offsets},
                                      {"edge", to_string(options.stencil->edge)}};
  return recorded;
}

RecordedStream recorded_stream(StreamConfig& config, const std::string& name,
                               const SourceOptions& options, bool copies_pictures) {
  if (config.select || !config.groups.empty())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "stream " + config.id +
                              " cannot be recorded: it has a selection or "
                              "groups, and a recording holds a whole run; "
                              "leave these out");
  const SourceInfo info = config.source->info();
  if (!config.seed) config.seed = info.live ? fresh_seed() : detail::seed_of(config.id);
  RecordedStream stream{.id = config.id,
                        .source = info.description,
                        .live = info.live,
                        .frames_per_second = info.frames_per_second,
                        .width = info.size.width,
                        .height = info.size.height,
                        .seed = *config.seed,
                        .capsules = config.capsules,
                        .policies = policies_of(config)};
  if (!copies_pictures && can_be_reopened(info, name, options)) {
    stream.file = describe_file(name);
    stream.source_options = source_options_to_json(options);
  }
  for (const auto& [capsule, values] : config.options)
    stream.options[capsule] = nlohmann::json(values);
  for (const auto& [capsule, json] : config.config) stream.config[capsule] = *json;
  return stream;
}

RecordingManifest recorded_settings(const Pipeline::Settings& settings) {
  RecordingManifest manifest{.leave_out = settings.unfit == UnfitPolicy::leave_out};
  if (settings.outputs)
    manifest.outputs = nlohmann::json{{"invalid", to_string(settings.outputs->invalid)},
                                      {"max_nodes", settings.outputs->max_nodes},
                                      {"max_bytes", settings.outputs->max_bytes},
                                      {"max_picture_bytes", settings.outputs->max_picture_bytes}};
  return manifest;
}

}  // namespace vcap
