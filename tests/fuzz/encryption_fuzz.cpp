// SPDX-License-Identifier: Apache-2.0
// Reads the header of an encrypted file, and its chunks with the key that the seeds use.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>

#include "fuzz/fuzz.hpp"
#include "loading/crypto/encryption.hpp"
#include "loading/crypto/encryption_header.hpp"
#include "vcap/loading/archive/archive_limits.hpp"

FUZZ(bytes) {
  static const vcap::EncryptionKey key = [] {
    std::array<std::byte, vcap::EncryptionKey::kSize> raw{};
    raw.fill(std::byte{7});
    return vcap::EncryptionKey::from_bytes(raw);
  }();
  if (!vcap::is_encrypted(bytes)) return;
  const vcap::EncryptionHeader header = vcap::read_encryption_header(bytes, "fuzz");
  const auto again = vcap::encryption_header_bytes(header);
  if (!std::ranges::equal(bytes.first(again.size()), again)) std::abort();
  if (header.mode == vcap::EncryptionHeader::Mode::passphrase) return;  // would need much memory

  const auto read = [bytes](std::uint64_t offset, std::span<std::byte> into) {
    if (offset > bytes.size() || into.size() > bytes.size() - offset) std::abort();
    std::ranges::copy(bytes.subspan(offset, into.size()), into.begin());
  };
  const auto plain =
      vcap::decrypt(read, bytes.size(), key, vcap::ArchiveLimits{}.total_bytes, "fuzz");
  if (plain->bytes().size() >= bytes.size()) std::abort();
}
