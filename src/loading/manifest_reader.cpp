// SPDX-License-Identifier: Apache-2.0
#include "loading/manifest_reader.hpp"

#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "files/strict_json.hpp"
#include "loading/capsule_layout.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/base/version.hpp"

namespace vcap {
namespace {

/// Refuses a version newer than the known one; from_json checks everything else.
void check_version(const nlohmann::json& manifest, const std::string& field, int known,
                   ErrorCode code, const std::string& capsule) {
  const auto found = manifest.find(field);
  if (found == manifest.end() || !found->is_number_unsigned()) return;
  const auto version = found->get<std::uint64_t>();
  if (version <= static_cast<std::uint64_t>(known)) return;
  throw IncompatibleCapsuleError(code,
                                 capsule + " has " + field + " " + std::to_string(version) +
                                     "; this is vcap " + std::string(vcap::version()) +
                                     ", which knows versions up to " + std::to_string(known) +
                                     ": update vcap, or build the capsule with this version",
                                 std::string(kManifestName));
}

/// Adds the fields of `given` that `known` lacks to `unknown`, by their JSON pointers.
void collect_unknown(const nlohmann::json& given, const nlohmann::json& known,
                     const std::string& pointer, std::map<std::string, JsonValue>& unknown) {
  for (const auto& [field, value] : given.items())
    if (!known.contains(field)) unknown.emplace(extend_pointer(pointer, field), value);
}

/// Compares with what would be written, so that the lists of fields exist only once.
std::map<std::string, JsonValue> unknown_fields(const nlohmann::json& given,
                                                const Manifest& manifest) {
  std::map<std::string, JsonValue> unknown;
  const nlohmann::json known = manifest;
  collect_unknown(given, known, "", unknown);
  collect_unknown(given.at("info"), known.at("info"), "/info", unknown);
  for (const char* const list : {"libraries", "files"})
    for (std::size_t i = 0; i < given.at(list).size(); ++i)
      collect_unknown(given.at(list)[i], known.at(list)[i],
                      extend_pointer(extend_pointer("", list), std::to_string(i)), unknown);
  return unknown;
}

}  // namespace

Manifest read_manifest_text(std::span<const std::byte> text, const std::string& capsule) {
  Manifest manifest;
  nlohmann::json given;
  try {
    given = parse_strictly({reinterpret_cast<const char*>(text.data()), text.size()});
    if (given.is_object()) {
      check_version(given, "format_version", kFormatVersion, ErrorCode::unsupported_format_version,
                    capsule);
      check_version(given, "api_version", kApiVersion, ErrorCode::unsupported_api_version, capsule);
    }
    manifest = given.get<Manifest>();
  } catch (const InvalidArgument& error) {
    throw InvalidCapsuleError(ErrorCode::invalid_manifest,
                              capsule + " has an invalid capsule.json: " + error.what() +
                                  "; create it again with `vcap pack`",
                              std::string(kManifestName));
  }
  try {
    check(manifest.info);
  } catch (const InvalidCapsuleError& error) {
    throw InvalidCapsuleError(
        error.code(), capsule + " has an invalid description in capsule.json: " + error.what(),
        std::string(kManifestName));
  }
  manifest.unknown = unknown_fields(given, manifest);
  for (const auto& [pointer, value] : manifest.unknown)
    log(LogLevel::warning, capsule + ": field " + pointer + " of capsule.json is unknown to vcap " +
                               std::string(version()) + " and ignored");
  return manifest;
}

}  // namespace vcap
