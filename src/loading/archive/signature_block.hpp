// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/loading/crypto/signing_key.hpp"

namespace vcap {

/// The signatures of a capsule file: the comment of its archive, of a fixed size and so at a fixed
/// distance from the file's end, where it is found without reading the archive.
///
/// 160 bytes: "vcapsig" and the version 1; two slots of a key id (8) and a signature (64), the
/// second all zeros where it is empty; a checksum (8). Each slot signs the digest of all bytes
/// before the block, and not the other slot, so that a second signature can come later. The
/// checksum is over digest, magic and slots: it finds accidents and mix-ups, no forgery.
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

/// Reads a block; nothing where the bytes are none, in every field but the checksum. Thread-safe.
VCAP_EXPORT std::optional<SignatureBlock> read_signature_block(std::span<const std::byte> bytes);

/// A file's end, read as a zip archive's end record with a signature block as its comment.
struct SignedFile {
  std::span<const std::byte> content{};  ///< all that stands before the block
  SignatureBlock block{};
};

/// Nothing where the file does not end so. Thread-safe.
VCAP_EXPORT std::optional<SignedFile> read_signed_file(std::span<const std::byte> file);

/// What a slot signs: "vcap-capsule-signature-1:<key id>:<SHA-256 of the content>", as text.
std::string signed_message(const KeyId& key, const std::string& content_sha256);

/// The block's bytes, with the right checksum. `slots`: as SignatureBlock's.
VCAP_EXPORT std::vector<std::byte> signature_block_bytes(
    const std::vector<SignatureBlock::Slot>& slots, const std::string& content_sha256);

/// Whether the checksum is that of the slots and of content with this digest.
bool has_right_checksum(const SignatureBlock& block, const std::string& content_sha256);

}  // namespace vcap
