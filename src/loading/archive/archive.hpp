// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/byte_reader.hpp"
#include "files/digest.hpp"
#include "loading/archive/archive_directory.hpp"
#include "vcap/loading/archive/archive_limits.hpp"

namespace vcap {

/// The files in a zip archive.
///
/// Why vcap has a reader of its own: docs/adr/0001-own-reader-and-writer-of-archives.md. What is
/// checked is read, and not mapped: see ByteReader. Thread safety: thread-compatible.
class Archive {
 public:
  using Bytes = std::span<const std::byte>;

  /// `capsule` appears in messages; `zip64_from`: see ArchiveRecords. Throws InvalidCapsuleError as
  /// read_directory does.
  Archive(std::shared_ptr<const ByteReader> file, const ArchiveLimits& limits, std::string capsule,
          std::uint64_t zip64_from = zip::kIn64);
  /// The same for bytes in memory.
  Archive(std::shared_ptr<const MappedFile> memory, const ArchiveLimits& limits,
          const std::string& capsule, std::uint64_t zip64_from = zip::kIn64);

  const std::vector<ArchiveEntry>& entries() const noexcept { return entries_; }
  /// Null if there is no entry with that name.
  const ArchiveEntry* find(std::string_view name) const noexcept;

  /// Gives the entry's bytes in blocks. Throws what ByteReader throws.
  void for_each_block(const ArchiveEntry& entry, const TakeBlock& take) const;
  /// The digests of the entry's bytes, read in bounded memory. Throws what ByteReader throws.
  Fingerprint fingerprint_of(const ArchiveEntry& entry) const;
  /// Throws InvalidCapsuleError (damaged_entry) if the entry declares another checksum.
  void check_checksum(const ArchiveEntry& entry, std::uint32_t found) const;
  /// A copy of the entry's bytes, with their checksum checked. Throws InvalidCapsuleError
  /// (damaged_entry) and what ByteReader throws.
  std::vector<std::byte> read(const ArchiveEntry& entry) const;
  /// A view of the entry's bytes in the mapped file, valid as long as storage() or a copy of it
  /// exists. Nothing is checked here. Throws what ByteReader::mapped() throws.
  Bytes content(const ArchiveEntry& entry) const;
  /// Like content(), after checking the checksum. Throws like read(), too.
  Bytes checked_content(const ArchiveEntry& entry) const;

  /// Keeps every view valid.
  std::shared_ptr<const void> storage() const { return file_->mapped(); }
  /// See MappedFile::release_pages().
  void release_pages() const noexcept { file_->release_pages(); }

 private:
  std::string capsule_;
  std::shared_ptr<const ByteReader> file_;
  std::vector<ArchiveEntry> entries_;
  std::vector<std::size_t> by_name_;  ///< indices of entries_, sorted by their names
};

}  // namespace vcap
