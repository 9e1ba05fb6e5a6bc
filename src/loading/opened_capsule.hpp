// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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
  OpenedCapsule(std::shared_ptr<const ByteReader> file, std::string name,
                const ArchiveLimits& limits);
  /// The same for bytes in memory.
  OpenedCapsule(std::shared_ptr<const MappedFile> memory, const std::string& name,
                const ArchiveLimits& limits);

  const std::string& name() const noexcept { return name_; }
  const Manifest& manifest() const noexcept { return manifest_; }
  /// The text as it is in the archive.
  Archive::Bytes manifest_text() const noexcept { return manifest_text_; }

  /// Checks the archive against the manifest: the same files in the same order, with the same sizes
  /// and digests. Reads the file in blocks. Throws InvalidCapsuleError (missing_entry,
  /// unlisted_entry, ambiguous_archive, digest_mismatch, damaged_entry) and what ByteReader throws.
  void verify() const;

  /// The size of a listed file, in bytes. Throws InvalidCapsuleError (missing_entry).
  std::uint64_t size_of(const std::string& path) const { return find(path).size; }
  /// Gives the bytes of a listed file in blocks. Throws InvalidCapsuleError (missing_entry) and
  /// what ByteReader throws.
  void for_each_block(const std::string& path, const TakeBlock& take) const;

  /// Views of all files except the libraries and the manifest, in the mapped file. Throws what
  /// ByteReader::mapped() throws.
  CapsuleFiles files() const;
  /// See MappedFile::release_pages().
  void release_pages() const noexcept { archive_.release_pages(); }

 private:
  void read_manifest(const ArchiveLimits& limits);
  void check_files() const;
  void check_order() const;
  const ArchiveEntry& find(const std::string& path) const;
  [[noreturn]] void differs(const Manifest::File& file, const std::string& found,
                            const std::string& expected) const;

  std::string name_;
  Archive archive_;
  std::vector<std::byte> manifest_text_{};
  Manifest manifest_{};
};

}  // namespace vcap
