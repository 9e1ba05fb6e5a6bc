// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "files/mapped_file.hpp"
#include "loading/opened_capsule.hpp"
#include "vcap/base/export.hpp"
#include "vcap/loading/sign_capsule.hpp"

namespace vcap {

/// What is let through to be read as an archive.
struct AdmittedFile {
  std::string name{};  ///< for messages, such as `capsule file "a.cap"`
  std::shared_ptr<const MappedFile> archive{};
  std::vector<CapsuleSignature> signatures{};
};

/// The first stages: opens a capsule, decrypts it where it is encrypted, and holds it against
/// options.trust. What is checked is what is given: a copy in sealed memory where anything is
/// checked, else the mapped file. Of the options, limits, trust and key count. Throws
/// InvalidCapsuleError (capsule_not_found, not_an_archive, limit_exceeded), UntrustedCapsuleError,
/// and what decrypt() throws; each notes its stage. Thread-safe.
VCAP_EXPORT AdmittedFile admit_capsule(const std::filesystem::path& path,
                                       const LoadOptions& options);
VCAP_EXPORT AdmittedFile admit_capsule(std::span<const std::byte> bytes,
                                       const LoadOptions& options);

/// A file that is to be made over, whoever signed it. Throws as admit_capsule does; where it is
/// encrypted, UntrustedCapsuleError (encrypted_capsule) that says `fault` of it. Thread-safe.
AdmittedFile admit_plain_capsule(const std::filesystem::path& path, const ArchiveLimits& limits,
                                 const std::string& fault);

/// As admit_capsule, and reads archive and manifest, whose version must be one that options.trust
/// lets in (version_rollback). Throws as OpenedCapsule does too.
VCAP_EXPORT OpenedCapsule open_capsule(const std::filesystem::path& path,
                                       const LoadOptions& options);
VCAP_EXPORT OpenedCapsule open_capsule(std::span<const std::byte> bytes,
                                       const LoadOptions& options);

/// Options that look at these limits alone.
LoadOptions options_with(const ArchiveLimits& limits);

}  // namespace vcap
