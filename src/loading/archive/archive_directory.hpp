// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/loading/archive/archive_limits.hpp"

namespace vcap {

/// A file in a zip archive, as both of its headers say.
struct ArchiveEntry {
  std::string name{};
  bool deflated = false;          ///< else stored
  std::uint32_t crc32 = 0;        ///< of the unpacked bytes
  std::uint64_t packed_size = 0;  ///< bytes in the archive
  std::uint64_t size = 0;         ///< bytes unpacked
  std::uint64_t header_offset = 0;
  std::uint64_t data_offset = 0;  ///< within the archive's bytes, packed_size of them

  bool operator==(const ArchiveEntry&) const = default;
};

/// Reads a zip archive's directory and holds it to the format of capsules (docs/capsule-format.md).
///
/// Every byte of the archive is accounted for: entries lie one after another from the first byte
/// on, each with two headers that say the same; the directory follows, then one end record. So no
/// two readers can see different files in it. Entries are given in the directory's order, names
/// checked, sizes within `limits`; nothing is unpacked. `capsule` stands in messages. Throws
/// InvalidCapsuleError (not_an_archive, ambiguous_archive,
/// unsafe_entry, unsupported_entry, limit_exceeded). Thread-safe.
VCAP_EXPORT std::vector<ArchiveEntry> read_directory(std::span<const std::byte> archive,
                                                     const ArchiveLimits& limits,
                                                     const std::string& capsule);

}  // namespace vcap
