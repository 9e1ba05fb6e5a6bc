// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/base/json_value.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/loading/load_capsule.hpp"

namespace vcap {

/// The version of the `.cap` format that this library reads and writes.
inline constexpr int kFormatVersion = 1;

/// `capsule.json`: the description in a `.cap` file (docs/capsule-format.md). Thread safety: value.
struct Manifest {
  /// The capsule's library for one platform and ABI.
  struct Library {
    std::string platform{};  ///< as platform() returns it
    std::string path{};      ///< in the archive: `lib/<platform>/capsule.so`
    std::string abi_tag{};
  };
  /// Any entry of the archive except the manifest.
  struct File {
    std::string path{};
    std::uint64_t size = 0;
    std::string sha256{};  ///< 64 lower-case hexadecimal digits
  };

  int format_version = kFormatVersion;
  int api_version = 0;
  CapsuleInfo info{};
  std::vector<Library> libraries{};
  /// Every entry except the manifest, including libraries; sorted by path.
  std::vector<File> files{};
  /// Fields that this version of vcap does not know, by their JSON pointers; kept unchanged.
  std::map<std::string, JsonValue> unknown{};
};

/// from_json throws InvalidArgument with the JSON pointer of the wrong field.
VCAP_EXPORT void to_json(nlohmann::json& json, const Manifest& manifest);
VCAP_EXPORT void from_json(const nlohmann::json& json, Manifest& manifest);

/// Reads a capsule's manifest; runs none of its code and checks no digest. Throws as load_capsule
/// does. Thread-safe.
VCAP_EXPORT Manifest read_manifest(const std::string& path, const ArchiveLimits& limits = {});
/// For a capsule that is encrypted or must be trusted. Uses only limits, trust and key of the
/// options.
VCAP_EXPORT Manifest read_manifest(const std::string& path, const LoadOptions& options);

/// Checks size and SHA-256 of every file in the capsule against its manifest. Throws as
/// read_manifest does, and InvalidCapsuleError (digest_mismatch, missing_entry, unlisted_entry)
/// naming the first file that differs. Thread-safe.
VCAP_EXPORT void verify_capsule(const std::string& path, const ArchiveLimits& limits = {});
VCAP_EXPORT void verify_capsule(const std::string& path, const LoadOptions& options);

}  // namespace vcap
