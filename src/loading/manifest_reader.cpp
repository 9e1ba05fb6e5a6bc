// SPDX-License-Identifier: Apache-2.0
#include "loading/manifest_reader.hpp"

#include <initializer_list>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "loading/entry_name.hpp"
#include "loading/strict_json.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/base/version.hpp"

namespace vcap {
namespace {

/// Refuses a version that is newer than the one known; all else is from_json's to judge.
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

void log_unknown_fields(const nlohmann::json& object, const std::set<std::string>& known,
                        const std::string& pointer, const std::string& capsule) {
  for (const auto& [field, value] : object.items())
    if (!known.contains(field))
      log(LogLevel::warning, capsule + ": field " + extend_pointer(pointer, field) + " of " +
                                 std::string("capsule.json is unknown to vcap ") +
                                 std::string(vcap::version()) + " and ignored");
}

/// Compares with what would be written, so that the lists of fields stand in one place.
void log_unknown_fields(const nlohmann::json& given, const Manifest& manifest,
                        const std::string& capsule) {
  const auto fields = [](const nlohmann::json& object) {
    std::set<std::string> names;
    for (const auto& [name, value] : object.items()) names.insert(name);
    return names;
  };
  const nlohmann::json known = manifest;
  log_unknown_fields(given, fields(known), "", capsule);
  log_unknown_fields(given.at("info"), fields(known.at("info")), "/info", capsule);
  for (const char* const list : {"libraries", "files"}) {
    for (std::size_t i = 0; i < given.at(list).size(); ++i)
      log_unknown_fields(given.at(list)[i], fields(known.at(list)[i]),
                         extend_pointer(extend_pointer("", list), std::to_string(i)), capsule);
  }
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
    throw InvalidCapsuleError(
        ErrorCode::invalid_manifest,
        capsule + " has a wrong capsule.json: " + error.what() + "; make it anew with `vcap pack`",
        std::string(kManifestName));
  }
  try {
    check(manifest.info);
  } catch (const InvalidCapsuleError& error) {
    throw InvalidCapsuleError(
        error.code(), capsule + " describes itself wrongly in capsule.json: " + error.what(),
        std::string(kManifestName));
  }
  log_unknown_fields(given, manifest, capsule);
  return manifest;
}

}  // namespace vcap
