// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/loading/crypto/encryption_key.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/loading/manifest.hpp"

namespace vcap {

/// The contents of a new capsule. Thread safety: value.
struct PackageContents {
  /// The plugin for each platform. One must be for this machine: its code is run to get the
  /// description.
  std::map<std::string, std::string> libraries{};
  /// Other files, by their name in the capsule, such as {"model.onnx", "build/model.onnx"}.
  std::map<std::string, std::string> files{};
};

/// How a capsule is written. Thread safety: value.
struct PackageOptions {
  /// Encrypts the file. To sign a capsule as well, sign it first and then use encrypt_capsule.
  std::optional<EncryptionKey> key{};
};

/// Writes a `.cap` file: derives the manifest from the built plugin, and stores every file
/// uncompressed and page-aligned. The file gets its name only when it is complete. The same
/// contents give the same bytes, unless they are encrypted. Returns the manifest. Throws
/// InvalidCapsuleError and related errors for the plugin, OutputError for the file, InvalidArgument
/// for names.
VCAP_EXPORT Manifest package_capsule(const PackageContents& contents, const std::string& output,
                                     const PackageOptions& options = {});

/// Unpacks every entry into `folder`, which must be empty or not exist. On failure nothing is left
/// there. Throws as load_capsule does, and OutputError.
VCAP_EXPORT void unpackage_capsule(const std::string& path, const std::string& folder,
                                   const ArchiveLimits& limits = {});
/// For a capsule that is encrypted or must be trusted. Uses only limits, trust and key of the
/// options.
VCAP_EXPORT void unpackage_capsule(const std::string& path, const std::string& folder,
                                   const LoadOptions& options);

}  // namespace vcap
