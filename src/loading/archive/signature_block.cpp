// SPDX-License-Identifier: Apache-2.0
#include "loading/archive/signature_block.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "files/bytes.hpp"
#include "files/digest.hpp"
#include "loading/archive/zip_format.hpp"

namespace vcap {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view kBlockMagic = "vcapsig\x01";
constexpr std::size_t kSlotSize = sizeof(KeyId::Bytes) + sizeof(Signature);
constexpr std::size_t kChecksumSize = 8;
static_assert(kChecksumSize == sizeof(KeyId::Bytes));
static_assert(kBlockMagic.size() + kSignatureSlots * kSlotSize + kChecksumSize ==
              kSignatureBlockSize);

Bytes block_magic() { return std::as_bytes(std::span(kBlockMagic)); }

/// Magic and slots, which the checksum covers.
std::vector<std::byte> checked_part(const std::vector<SignatureBlock::Slot>& slots) {
  std::vector<std::byte> bytes(block_magic().begin(), block_magic().end());
  for (const SignatureBlock::Slot& slot : slots) {
    bytes.insert(bytes.end(), slot.key.bytes().begin(), slot.key.bytes().end());
    bytes.insert(bytes.end(), slot.signature.begin(), slot.signature.end());
  }
  bytes.resize(kSignatureBlockSize - kChecksumSize);
  return bytes;
}

std::array<std::byte, kChecksumSize> checksum_of(const std::vector<std::byte>& checked,
                                                 const std::string& content_sha256) {
  std::vector<std::byte> bytes = checked;
  const auto digest = std::as_bytes(std::span(content_sha256));
  bytes.insert(bytes.end(), digest.begin(), digest.end());
  // The checksum has as many digits as a key id.
  return KeyId::parse(std::string_view(sha256(bytes)).substr(0, 2 * kChecksumSize)).bytes();
}

}  // namespace

std::optional<SignatureBlock> read_signature_block(Bytes bytes) {
  if (bytes.size() != kSignatureBlockSize) return std::nullopt;
  if (!std::ranges::equal(bytes.first(kBlockMagic.size()), block_magic())) return std::nullopt;
  SignatureBlock block;
  std::ranges::copy(bytes.last(kChecksumSize), block.checksum.begin());
  for (std::size_t i = 0; i < kSignatureSlots; ++i) {
    const Bytes slot = bytes.subspan(kBlockMagic.size() + i * kSlotSize, kSlotSize);
    if (i > 0 && is_zero(slot)) continue;
    const Bytes key = slot.first(sizeof(KeyId::Bytes));
    const Bytes signature = slot.subspan(key.size());
    if (is_zero(key) || is_zero(signature)) return std::nullopt;
    KeyId::Bytes id{};
    std::ranges::copy(key, id.begin());
    block.slots.push_back({.key = KeyId(id)});
    std::ranges::copy(signature, block.slots.back().signature.begin());
  }
  if (block.slots.size() == 2 && block.slots[0].key == block.slots[1].key) return std::nullopt;
  return block;
}

std::optional<SignatureBlock> read_block_at_end(const ByteReader& file) {
  constexpr std::uint64_t kEnd = zip::kEndRecordSize + kSignatureBlockSize;
  if (file.size() < kEnd) return std::nullopt;
  const std::vector<std::byte> end = file.read(file.size() - kEnd, kEnd);
  auto signed_end = read_signed_file(end);
  if (!signed_end) return std::nullopt;
  return std::move(signed_end->block);
}

std::optional<SignedFile> read_signed_file(Bytes file) {
  if (file.size() < zip::kEndRecordSize + kSignatureBlockSize) return std::nullopt;
  const Bytes content = file.first(file.size() - kSignatureBlockSize);
  const Bytes end = content.last(zip::kEndRecordSize);
  if (little_endian(end.first(4)) != zip::kEndRecord ||
      little_endian(end.last(2)) != kSignatureBlockSize)
    return std::nullopt;
  auto block = read_signature_block(file.last(kSignatureBlockSize));
  if (!block) return std::nullopt;
  return SignedFile{.content = content, .block = *std::move(block)};
}

std::string signed_message(const KeyId& key, const std::string& content_sha256) {
  return "vcap-capsule-signature-1:" + key.to_string() + ":" + content_sha256;
}

std::vector<std::byte> signature_block_bytes(const std::vector<SignatureBlock::Slot>& slots,
                                             const std::string& content_sha256) {
  std::vector<std::byte> bytes = checked_part(slots);
  const auto checksum = checksum_of(bytes, content_sha256);
  bytes.insert(bytes.end(), checksum.begin(), checksum.end());
  return bytes;
}

bool has_right_checksum(const SignatureBlock& block, const std::string& content_sha256) {
  return block.checksum == checksum_of(checked_part(block.slots), content_sha256);
}

}  // namespace vcap
