// SPDX-License-Identifier: Apache-2.0
// Scans an archive. If the scan accepts it, writing its entries again gives the same bytes.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "loading/archive/archive_directory.hpp"
#include "loading/archive/archive_writer.hpp"
#include "loading/archive/signature_block.hpp"

FUZZ(bytes) {
  const auto entries = vcap::read_directory(bytes, vcap::ArchiveLimits{}, "fuzz");
  std::vector<std::byte> written;
  vcap::ArchiveWriter writer([&written](vcap::ArchiveWriter::Bytes part) {
    written.insert(written.end(), part.begin(), part.end());
  });
  for (const vcap::ArchiveEntry& entry : entries) {
    // The bytes of an accepted entry are within the archive.
    if (entry.data_offset > bytes.size() || entry.size > bytes.size() - entry.data_offset)
      std::abort();
    writer.add(entry.name, bytes.subspan(entry.data_offset, entry.size), entry.crc32);
  }
  writer.finish();
  if (bytes.size() == written.size() + vcap::kSignatureBlockSize) {
    written[written.size() - 2] = static_cast<std::byte>(vcap::kSignatureBlockSize);
    bytes = bytes.first(written.size());
  }
  if (!std::ranges::equal(bytes, written)) std::abort();
}
