// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "files/byte_reader.hpp"
#include "vcap/loading/crypto/signing_key.hpp"

namespace vcap {

/// The signatures of a capsule file, in the comment of its archive. The block has a fixed size. So
/// it is at a fixed distance from the file's end, and is found without reading the archive.
///
/// 160 bytes: "vcapsig" and the version 1; two slots of a key id (8) and a signature (64), the
/// second all zeros if it is empty; a checksum (8). Each slot signs the digest of all bytes before
/// the block, but not the other slot, so that a second signature can be added later. The checksum
/// covers digest, magic and slots: it detects accidents and mix-ups, not forgery.
struct SignatureBlock {
  struct Slot {
    KeyId key{};
    Signature signature{};
    bool operator==(const Slot&) const = default;
  };

  std::vector<Slot> slots{};  ///< one or two, of different keys
  std::array<std::byte, 8> checksum{};
};

inline constexpr std::size_t kSignatureBlockSize = 160;
inline constexpr std::size_t kSignatureSlots = 2;

/// Reads a block; `nullopt` if any field but the checksum is wrong. The checksum is not checked.
/// Thread-safe.
std::optional<SignatureBlock> read_signature_block(std::span<const std::byte> bytes);

/// Reads only the last bytes of a file: the block that is the comment of its zip end record.
/// `nullopt` if the file does not end with both. Throws what ByteReader throws. Thread-safe.
std::optional<SignatureBlock> read_block_at_end(const ByteReader& file);

/// A file whose last bytes are a zip end record with a signature block as its comment.
struct SignedFile {
  std::span<const std::byte> content{};  ///< all bytes before the block
  SignatureBlock block{};
};

/// `nullopt` if the file does not end like that. Thread-safe.
std::optional<SignedFile> read_signed_file(std::span<const std::byte> file);

/// The text that a slot signs: "vcap-capsule-signature-1:<key id>:<SHA-256 of the content>".
std::string signed_message(const KeyId& key, const std::string& content_sha256);

/// The block's bytes, with the right checksum. `slots`: as in SignatureBlock.
std::vector<std::byte> signature_block_bytes(const std::vector<SignatureBlock::Slot>& slots,
                                             const std::string& content_sha256);

/// Whether the checksum matches the slots and content with this digest.
bool has_right_checksum(const SignatureBlock& block, const std::string& content_sha256);

}  // namespace vcap
