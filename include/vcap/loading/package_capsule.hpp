// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/loading/crypto/encryption_key.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/loading/manifest.hpp"

namespace vcap {

/// What goes into a capsule. Thread safety: value.
struct PackageContents {
  /// The plugin by platform, one of them for this machine: its code is run for the description.
  std::map<std::string, std::filesystem::path> libraries{};
  /// Other files by their name in the capsule, such as {"model.onnx", "build/model.onnx"}.
  std::map<std::string, std::filesystem::path> files{};
};

/// How a capsule is written. Thread safety: value.
struct PackageOptions {
  /// Encrypts the file; what is to be signed too is encrypted later, by encrypt_capsule.
  std::optional<EncryptionKey> key{};
};

/// Writes a `.cap` file: derives the manifest from the built plugin, stores every file
/// uncompressed and page-aligned, and gives the file its name only when it is complete; the same
/// contents give the same bytes, unless they are encrypted. Returns the manifest. Throws
/// InvalidCapsuleError and its kin for the plugin, OutputError for the file, InvalidArgument for
/// names.
VCAP_EXPORT Manifest package_capsule(const PackageContents& contents,
                                     const std::filesystem::path& output,
                                     const PackageOptions& options = {});

/// Unpacks every entry below `folder`, which must not exist or be empty; nothing is left there
/// where it fails. Throws as load_capsule does, and OutputError.
VCAP_EXPORT void unpackage_capsule(const std::filesystem::path& path,
                                   const std::filesystem::path& folder,
                                   const ArchiveLimits& limits = {});
/// The same of a capsule that is encrypted or to be trusted: of the options, limits, trust and key
/// count.
VCAP_EXPORT void unpackage_capsule(const std::filesystem::path& path,
                                   const std::filesystem::path& folder, const LoadOptions& options);

}  // namespace vcap
