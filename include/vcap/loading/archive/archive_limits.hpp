// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vcap {

/// Limits on what an archive may make the host read or hold. Thread safety: value.
struct ArchiveLimits {
  std::uint64_t entries = 4096;
  std::uint64_t directory_bytes = 8u << 20;  ///< of the archive's central directory
  std::uint64_t manifest_bytes = 1u << 20;
  std::uint64_t file_bytes = std::uint64_t{8} << 30;     ///< of one entry
  std::uint64_t total_bytes = std::uint64_t{16} << 30;   ///< of all entries
  std::uint64_t library_bytes = std::uint64_t{1} << 30;  ///< of the library for this host
};

}  // namespace vcap
