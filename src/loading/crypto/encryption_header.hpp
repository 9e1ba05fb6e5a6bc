// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace vcap {

/// The first 64 bytes of an encrypted capsule file (docs/security.md has the table).
struct EncryptionHeader {
  enum class Mode : std::uint8_t {
    raw = 0,         ///< encrypts with the key itself
    passphrase = 1,  ///< encrypts with a key derived by Argon2id
  };

  Mode mode = Mode::raw;
  std::uint32_t chunk_size = 0;  ///< plain bytes of every chunk except the last
  std::uint32_t passes = 0;      ///< for Argon2id; 0 for a raw key, like memory_kib and salt
  std::uint32_t memory_kib = 0;
  std::array<std::byte, 16> salt{};
  std::array<std::byte, 24> stream_header{};  ///< libsodium's; contains the nonce

  bool operator==(const EncryptionHeader&) const = default;
};

inline constexpr std::size_t kEncryptionHeaderSize = 64;

// Limits for a header that is read. They bound what an untrusted file can cost a host before the
// key is found wrong: one chunk, and Argon2id with these passes and memory.
inline constexpr std::uint32_t kLargestChunk = 1u << 20;
inline constexpr std::uint32_t kMostPasses = 8;
inline constexpr std::uint32_t kLeastMemoryKib = 8;
inline constexpr std::uint32_t kMostMemoryKib = 512u << 10;

/// Whether a file with these first bytes is an encrypted capsule. Thread-safe.
bool is_encrypted(std::span<const std::byte> head) noexcept;

/// Reads the header at the start of a file; requires is_encrypted(). Every field is checked against
/// its limits. `capsule` appears in messages. Throws UntrustedCapsuleError (damaged_encryption) and
/// IncompatibleCapsuleError (unsupported_format_version). Thread-safe.
EncryptionHeader read_encryption_header(std::span<const std::byte> head,
                                        const std::string& capsule);

/// The bytes of a header, as read_encryption_header reads them.
std::array<std::byte, kEncryptionHeaderSize> encryption_header_bytes(
    const EncryptionHeader& header);

}  // namespace vcap
