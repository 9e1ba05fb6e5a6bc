// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "vcap/base/export.hpp"

namespace vcap {

/// The first 64 bytes of an encrypted capsule file (docs/security.md has the table).
struct EncryptionHeader {
  enum class Mode : std::uint8_t {
    raw = 0,         ///< the key is what encrypts
    passphrase = 1,  ///< Argon2id makes the key
  };

  Mode mode = Mode::raw;
  std::uint32_t chunk_size = 0;  ///< plain bytes of every chunk but the last
  std::uint32_t passes = 0;      ///< Argon2id's; 0 where the key is raw, as all of its fields
  std::uint32_t memory_kib = 0;
  std::array<std::byte, 16> salt{};
  std::array<std::byte, 24> stream_header{};  ///< libsodium's, the nonce in it

  bool operator==(const EncryptionHeader&) const = default;
};

inline constexpr std::size_t kEncryptionHeaderSize = 64;

// Bounds of a header that is read. What a stranger's file can make a host spend before the key is
// known to be wrong: one chunk, and Argon2id of so many passes over so much memory.
inline constexpr std::uint32_t kLargestChunk = 1u << 20;
inline constexpr std::uint32_t kMostPasses = 8;
inline constexpr std::uint32_t kLeastMemoryKib = 8;
inline constexpr std::uint32_t kMostMemoryKib = 512u << 10;

/// Whether a file with these first bytes is an encrypted capsule. Thread-safe.
VCAP_EXPORT bool is_encrypted(std::span<const std::byte> head) noexcept;

/// Reads the header at the head of a file, for which is_encrypted() holds; every field is within
/// its bounds. `capsule` stands in messages. Throws UntrustedCapsuleError (damaged_encryption) and
/// IncompatibleCapsuleError (unsupported_format_version). Thread-safe.
VCAP_EXPORT EncryptionHeader read_encryption_header(std::span<const std::byte> head,
                                                    const std::string& capsule);

/// The header as it is read.
VCAP_EXPORT std::array<std::byte, kEncryptionHeaderSize> encryption_header_bytes(
    const EncryptionHeader& header);

}  // namespace vcap
