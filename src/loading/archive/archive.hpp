// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/mapped_file.hpp"
#include "loading/archive/archive_directory.hpp"
#include "vcap/loading/archive/archive_limits.hpp"

namespace vcap {

/// The files in a zip archive.
///
/// Why vcap has a reader of its own: docs/adr/0001-own-reader-and-writer-of-archives.md. Entries
/// are unpacked with libdeflate. Thread safety: thread-compatible.
class Archive {
 public:
  using Bytes = std::span<const std::byte>;

  /// `capsule` appears in messages. Throws InvalidCapsuleError as read_directory does.
  Archive(std::shared_ptr<const MappedFile> file, const ArchiveLimits& limits, std::string capsule);
  Archive(Archive&&) noexcept;
  ~Archive();

  const std::vector<ArchiveEntry>& entries() const noexcept { return entries_; }
  /// Null if there is no entry with that name.
  const ArchiveEntry* find(std::string_view name) const noexcept;

  /// A view of the entry's bytes, valid as long as storage() or a copy of it exists. A stored entry
  /// is in the mapped file; a deflated one is unpacked once. The checksum of unpacked bytes is
  /// checked; stored ones have a digest in the manifest. Throws InvalidCapsuleError (damaged_entry)
  /// if the packed bytes do not match the directory.
  Bytes content(const ArchiveEntry& entry);
  /// Like content(), but always checks the checksum; for the manifest, which has no digest.
  Bytes checked_content(const ArchiveEntry& entry);

  /// Keeps every view valid.
  std::shared_ptr<const void> storage() const noexcept;
  /// See MappedFile::release_pages().
  void release_pages() const noexcept;

 private:
  struct Storage;

  [[noreturn]] void damaged(const ArchiveEntry& entry, const std::string& fault) const;
  std::unique_ptr<std::byte[]> unpack(const ArchiveEntry& entry) const;

  std::string capsule_;
  std::vector<ArchiveEntry> entries_;
  std::vector<std::size_t> by_name_;  ///< indices of entries_, sorted by their names
  std::shared_ptr<Storage> storage_;
};

}  // namespace vcap
