// SPDX-License-Identifier: Apache-2.0
// Scans an archive, and unpacks the entries that the scan accepts.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "loading/archive/archive_directory.hpp"
#include "loading/archive/inflate.hpp"

FUZZ(bytes) {
  constexpr std::uint64_t kMost = 1 << 16;
  std::uint64_t end = 0;
  for (const vcap::ArchiveEntry& entry :
       vcap::read_directory(bytes, vcap::ArchiveLimits{}, "fuzz")) {
    // The bytes of an accepted entry are within the archive.
    if (entry.data_offset > bytes.size() || entry.packed_size > bytes.size() - entry.data_offset)
      std::abort();
    end += entry.packed_size;
    if (!entry.deflated) continue;
    std::vector<std::byte> output(std::min(entry.size, kMost));
    const auto packed = bytes.subspan(entry.data_offset, entry.packed_size);
    const vcap::Inflated inflated = vcap::inflate(packed, output);
    if (inflated.size > output.size() || inflated.consumed > packed.size()) std::abort();
  }
  // Entries do not share bytes.
  if (end > bytes.size()) std::abort();
}
