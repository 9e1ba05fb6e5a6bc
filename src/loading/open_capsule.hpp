// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "files/byte_reader.hpp"
#include "loading/opened_capsule.hpp"
#include "vcap/loading/sign_capsule.hpp"

namespace vcap {

/// A file that may be read as an archive.
struct AdmittedFile {
  std::string name{};  ///< for messages, such as `capsule file "a.cap"`
  std::shared_ptr<const ByteReader> archive{};
  std::vector<CapsuleSignature> signatures{};
};

/// The first stages: opens a capsule, decrypts it if it is encrypted, and checks it against
/// options.trust. The result is what was checked: a copy in sealed memory if a signature was
/// checked or the file was decrypted, otherwise the file itself or, for bytes, a plain copy.
///
/// Refuses what it can before it copies: a file whose signatures cannot count, after its last 182
/// bytes; a large file with a wrong signature, after reading it in blocks. Uses only limits, trust
/// and key of the options. Throws InvalidCapsuleError (capsule_not_found, not_an_archive,
/// capsule_changed, limit_exceeded), UntrustedCapsuleError, and what decrypt() throws; each has its
/// stage. Thread-safe.
AdmittedFile admit_capsule(const std::filesystem::path& path, const LoadOptions& options);
AdmittedFile admit_capsule(std::span<const std::byte> bytes, const LoadOptions& options);

/// Admits a file that is to be rewritten, no matter who signed it. Throws as admit_capsule does. If
/// the file is encrypted, throws UntrustedCapsuleError (encrypted_capsule) with `fault` in its
/// message. Thread-safe.
AdmittedFile admit_plain_capsule(const std::filesystem::path& path, const ArchiveLimits& limits,
                                 const std::string& fault);

/// Like admit_capsule; also reads archive and manifest. options.trust must accept the manifest's
/// version, otherwise version_rollback. Also throws as OpenedCapsule does.
OpenedCapsule open_capsule(const std::filesystem::path& path, const LoadOptions& options);
OpenedCapsule open_capsule(std::span<const std::byte> bytes, const LoadOptions& options);

/// Options with these limits, and otherwise the defaults.
LoadOptions options_with(const ArchiveLimits& limits);

}  // namespace vcap
