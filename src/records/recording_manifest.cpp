// SPDX-License-Identifier: Apache-2.0
// recording.json.
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "files/digest.hpp"
#include "files/strict_json.hpp"
#include "model/json_view.hpp"
#include "records/recording_files.hpp"
#include "vcap/base/error.hpp"
#include "vcap/records/recording.hpp"

namespace vcap {
namespace {

constexpr const char* kRecordingSchema = "vcap.recording/1";
/// Schemas of capsules and configs may be deep.
constexpr std::size_t kMostManifestLevels = 100;

nlohmann::json file_to_json(const RecordedFile& file) {
  return {{"path", file.path}, {"size", file.size}, {"sha256", file.sha256}};
}

nlohmann::json capsule_to_json(const RecordedCapsule& capsule) {
  nlohmann::json json{{"name", capsule.name},
                      {"version", capsule.version},
                      {"info", *capsule.info},
                      {"config", *capsule.config}};
  if (capsule.file) json["file"] = file_to_json(*capsule.file);
  if (!capsule.copy.empty()) json["copy"] = capsule.copy;
  if (!capsule.stencil.is_null()) json["stencil"] = *capsule.stencil;
  return json;
}

nlohmann::json stream_to_json(const RecordedStream& stream) {
  nlohmann::json json{{"id", stream.id},
                      {"source", stream.source},
                      {"live", stream.live},
                      {"seed", stream.seed},
                      {"options", *stream.options},
                      {"config", *stream.config},
                      {"policies", *stream.policies},
                      {"folder", stream.folder},
                      {"complete", stream.complete},
                      {"frames", stream.frames},
                      {"lost", stream.lost}};
  if (stream.frames_per_second > 0) json["frames_per_second"] = stream.frames_per_second;
  if (stream.width > 0) json["size"] = {{"width", stream.width}, {"height", stream.height}};
  if (stream.file) {
    json["file"] = file_to_json(*stream.file);
    json["source_options"] = *stream.source_options;
  }
  if (stream.capsules) json["capsules"] = *stream.capsules;
  return json;
}

std::uint64_t read_natural(const JsonView& json) {
  if (!json.value().is_number_unsigned()) json.fail("a whole number from 0");
  return json.value().get<std::uint64_t>();
}

RecordedFile read_file(const JsonView& json) {
  return {.path = json["path"].text(),
          .size = read_natural(json["size"]),
          .sha256 = json["sha256"].text()};
}

JsonValue object_or_empty(const JsonView& json, const char* key) {
  const auto found = json.find(key);
  if (!found) return JsonValue::object();
  if (!found->value().is_object()) found->fail("an object");
  return found->value();
}

/// A name in the recording's folder, which must not lead out of it.
std::string read_name(const JsonView& json) {
  const std::string& name = json.text();
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
    json.fail("a name in the recording's folder");
  return name;
}

RecordedCapsule read_recorded_capsule(const JsonView& json) {
  RecordedCapsule capsule{.name = json["name"].text(),
                          .version = static_cast<int>(json["version"].integer()),
                          .info = json["info"].value(),
                          .config = object_or_empty(json, "config")};
  if (const auto file = json.find("file")) capsule.file = read_file(*file);
  if (const auto copy = json.find("copy")) capsule.copy = read_name(*copy);
  if (const auto stencil = json.find("stencil")) capsule.stencil = stencil->value();
  return capsule;
}

RecordedStream read_recorded_stream(const JsonView& json) {
  RecordedStream stream{.id = json["id"].text(),
                        .source = json["source"].text(),
                        .live = json["live"].boolean(),
                        .source_options = object_or_empty(json, "source_options"),
                        .seed = read_natural(json["seed"]),
                        .options = object_or_empty(json, "options"),
                        .config = object_or_empty(json, "config"),
                        .policies = object_or_empty(json, "policies"),
                        .folder = read_name(json["folder"]),
                        .frames = read_natural(json["frames"]),
                        .lost = read_natural(json["lost"]),
                        .complete = json["complete"].boolean()};
  if (const auto rate = json.find("frames_per_second")) stream.frames_per_second = rate->number();
  if (const auto size = json.find("size")) {
    stream.width = (*size)["width"].integer();
    stream.height = (*size)["height"].integer();
  }
  if (const auto file = json.find("file")) stream.file = read_file(*file);
  if (const auto capsules = json.find("capsules")) stream.capsules = capsules->texts();
  return stream;
}

}  // namespace

void to_json(nlohmann::json& json, const RecordingManifest& manifest) {
  json = {{"schema", kRecordingSchema},          {"vcap_version", manifest.vcap_version},
          {"leave_out", manifest.leave_out},     {"outputs", *manifest.outputs},
          {"capsules", nlohmann::json::array()}, {"streams", nlohmann::json::array()}};
  for (const RecordedCapsule& capsule : manifest.capsules)
    json["capsules"].push_back(capsule_to_json(capsule));
  for (const RecordedStream& stream : manifest.streams)
    json["streams"].push_back(stream_to_json(stream));
}

void from_json(const nlohmann::json& json, RecordingManifest& manifest) {
  const JsonView view(json);
  if (view["schema"].text() != kRecordingSchema)
    view["schema"].fail(std::string("the schema ") + kRecordingSchema);
  RecordingManifest read{.vcap_version = view["vcap_version"].text(),
                         .leave_out = view["leave_out"].boolean(),
                         .outputs = object_or_empty(view, "outputs")};
  for (const JsonView& one : view["capsules"].elements())
    read.capsules.push_back(read_recorded_capsule(one));
  for (const JsonView& one : view["streams"].elements())
    read.streams.push_back(read_recorded_stream(one));
  manifest = std::move(read);
}

RecordingManifest read_recording_manifest(const std::string& folder) {
  const std::filesystem::path path = std::filesystem::path(folder) / kManifestName;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    throw SourceError(ErrorCode::source_open,
                      path.string() +
                          " cannot be read; give the folder of a recording, as vcap "
                          "run --record makes it");
  try {
    return parse_strictly(text.str(), kMostManifestLevels).get<RecordingManifest>();
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(ErrorCode::invalid_json, path.string() + ": " + error.what() +
                                                       "; expected is the file that vcap run "
                                                       "--record writes (docs/replay.md)");
  }
}

RecordedFile describe_file(const std::string& path) {
  std::error_code unknown;
  RecordedFile described{.path = std::filesystem::absolute(path, unknown).lexically_normal()};
  std::ifstream file(path, std::ios::binary);
  Sha256 digest;
  std::vector<char> part(std::size_t{1} << 20);
  while (file.read(part.data(), static_cast<std::streamsize>(part.size())) || file.gcount() > 0) {
    const auto count = static_cast<std::size_t>(file.gcount());
    digest.update(std::as_bytes(std::span(part.data(), count)));
    described.size += count;
  }
  if (!file.eof())
    throw SourceError(ErrorCode::source_open,
                      path + " cannot be read; check that the file exists and may be read");
  described.sha256 = digest.hexadecimal();
  return described;
}

}  // namespace vcap
