// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vcap/loading/archive/archive_limits.hpp"

namespace vcap {

/// A file in a zip archive, as both of its headers describe it.
struct ArchiveEntry {
  std::string name{};
  bool deflated = false;          ///< otherwise stored
  std::uint32_t crc32 = 0;        ///< of the unpacked bytes
  std::uint64_t packed_size = 0;  ///< bytes in the archive
  std::uint64_t size = 0;         ///< bytes unpacked
  std::uint64_t header_offset = 0;
  std::uint64_t data_offset = 0;  ///< position of its packed_size bytes in the archive

  bool operator==(const ArchiveEntry&) const = default;
};

/// Reads a zip archive's directory and checks it against the capsule format
/// (docs/capsule-format.md).
///
/// Every byte of the archive is accounted for. Entries lie one after another from the first byte
/// on, each with two headers that agree; then come the directory and one end record. So no two
/// readers can see different files. Returns the entries in directory order, with names checked and
/// sizes within `limits`; nothing is unpacked. `capsule` appears in messages. Throws
/// InvalidCapsuleError (not_an_archive, ambiguous_archive, unsafe_entry, unsupported_entry,
/// limit_exceeded). Thread-safe.
std::vector<ArchiveEntry> read_directory(std::span<const std::byte> archive,
                                         const ArchiveLimits& limits, const std::string& capsule);

}  // namespace vcap
