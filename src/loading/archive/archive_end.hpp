// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "loading/archive/archive_window.hpp"

namespace vcap {

/// The position of an archive's directory, from the records after it. Thread safety: value.
struct ArchiveEnd {
  std::uint64_t entries = 0;
  std::uint64_t directory_offset = 0;
  std::uint64_t directory_size = 0;
  std::uint64_t directory_end = 0;  ///< where the first end record begins
};

/// Reads the end record, and its zip64 forms if there are any. They are as vcap writes them, and
/// reach to the last byte, with a signature block as their only comment. Throws
/// InvalidCapsuleError (not_an_archive, ambiguous_archive, unsupported_entry) and what ByteReader
/// throws.
ArchiveEnd read_archive_end(ArchiveWindow& archive, std::uint64_t zip64_from);

}  // namespace vcap
