// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "files/mapped_file.hpp"
#include "loading/archive/archive.hpp"
#include "vcap/capsule/capsule_files.hpp"
#include "vcap/loading/manifest.hpp"

namespace vcap {

/// The result of the first stages: a capsule whose archive and manifest have been read, but nothing
/// else. Loading, verifying and unpacking share it. Thread safety: thread-compatible.
class OpenedCapsule {
 public:
  /// For a file that open_capsule() has accepted. `name` appears in messages, such as `capsule file
  /// "a.cap"`. Throws what Archive and read_manifest_text throw; InvalidCapsuleError (no_manifest).
  OpenedCapsule(std::shared_ptr<const MappedFile> file, std::string name,
                const ArchiveLimits& limits);

  const std::string& name() const noexcept { return name_; }
  const Manifest& manifest() const noexcept { return manifest_; }
  /// The text as it is in the archive.
  Archive::Bytes manifest_text() const noexcept { return manifest_text_; }

  /// Checks the archive against the manifest: the same files, with the same sizes and digests.
  /// Throws InvalidCapsuleError (missing_entry, unlisted_entry, digest_mismatch).
  void verify();

  /// The bytes of a listed file; valid as long as Archive::content() says. Throws
  /// InvalidCapsuleError (missing_entry, damaged_entry).
  Archive::Bytes content(const std::string& path);

  /// Views of all files except the libraries and the manifest.
  CapsuleFiles files();
  /// See MappedFile::release_pages().
  void release_pages() const noexcept { archive_.release_pages(); }

 private:
  void read_manifest(const ArchiveLimits& limits);
  void check_files();
  const ArchiveEntry& find(const std::string& path) const;
  [[noreturn]] void differs(const Manifest::File& file, const std::string& found,
                            const std::string& expected) const;

  std::string name_;
  Archive archive_;
  Archive::Bytes manifest_text_{};
  Manifest manifest_{};
};

}  // namespace vcap
