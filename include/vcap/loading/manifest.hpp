// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/loading/load_capsule.hpp"

namespace vcap {

/// The version of the `.cap` file's form that this library reads and writes.
inline constexpr int kFormatVersion = 1;

/// `capsule.json`: what a `.cap` file says of itself (docs/capsule-format.md).
/// Thread safety: value.
struct Manifest {
  struct Library {
    std::string platform{};  ///< as platform() gives it
    std::string path{};      ///< in the archive: lib/<platform>/capsule.so
    std::string abi_tag{};
  };
  struct File {
    std::string path{};
    std::uint64_t size = 0;
    std::string sha256{};  ///< 64 lower-case hexadecimal digits
  };

  int format_version = kFormatVersion;
  int api_version = 0;
  CapsuleInfo info{};
  std::vector<Library> libraries{};
  std::vector<File> files{};  ///< every entry but the manifest, libraries too; sorted by path
  /// Fields that this version of vcap does not know, by their JSON pointers; kept as they are.
  std::map<std::string, nlohmann::json> unknown{};
};

/// from_json throws InvalidArgument naming the wrong field by its JSON pointer.
VCAP_EXPORT void to_json(nlohmann::json& json, const Manifest& manifest);
VCAP_EXPORT void from_json(const nlohmann::json& json, Manifest& manifest);

/// Reads the manifest of a capsule; runs none of its code and checks no digest. Throws as
/// load_capsule does. Thread-safe.
VCAP_EXPORT Manifest read_manifest(const std::filesystem::path& path,
                                   const ArchiveLimits& limits = {});
/// The same of a capsule that is encrypted or to be trusted: of the options, limits, trust and key
/// count.
VCAP_EXPORT Manifest read_manifest(const std::filesystem::path& path, const LoadOptions& options);

/// Checks size and SHA-256 of every file in the capsule against its manifest; throws as
/// read_manifest does, and InvalidCapsuleError (digest_mismatch, missing_entry, unlisted_entry)
/// naming the first file that differs. Thread-safe.
VCAP_EXPORT void verify_capsule(const std::filesystem::path& path,
                                const ArchiveLimits& limits = {});
VCAP_EXPORT void verify_capsule(const std::filesystem::path& path, const LoadOptions& options);

}  // namespace vcap
