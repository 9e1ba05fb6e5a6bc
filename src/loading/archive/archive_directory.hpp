// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "files/byte_reader.hpp"
#include "loading/archive/archive_records.hpp"
#include "vcap/loading/archive/archive_limits.hpp"

namespace vcap {

/// Reads a zip archive's directory and checks it against the capsule format
/// (docs/capsule-format.md).
///
/// Every byte of the archive is accounted for. Entries lie one after another from the first byte
/// on, in the directory's order; then come the directory and one end record. Each record has the
/// bytes that ArchiveWriter would write for it, so there is one archive for the given contents, and
/// no two readers can see different files. Returns the entries in that order, with names checked
/// and sizes within `limits`. Reads the records, but no contents. `capsule` appears in messages;
/// `zip64_from`: see ArchiveRecords. Throws InvalidCapsuleError (not_an_archive, ambiguous_archive,
/// unsafe_entry, unsupported_entry, limit_exceeded) and what ByteReader throws. Thread-safe.
std::vector<ArchiveEntry> read_directory(const ByteReader& archive, const ArchiveLimits& limits,
                                         const std::string& capsule,
                                         std::uint64_t zip64_from = zip::kIn64);
/// The same for bytes in memory.
std::vector<ArchiveEntry> read_directory(std::span<const std::byte> archive,
                                         const ArchiveLimits& limits, const std::string& capsule,
                                         std::uint64_t zip64_from = zip::kIn64);

}  // namespace vcap
