// SPDX-License-Identifier: Apache-2.0
#include "loading/crypto/encryption_header.hpp"

#include <algorithm>
#include <string_view>

#include "files/bytes.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/version.hpp"

namespace vcap {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view kEncryptionMagic = "vcapenc";
constexpr std::uint8_t kEncryptionVersion = 1;

// Offsets of the fields.
constexpr std::size_t kVersionAt = 7;
constexpr std::size_t kModeAt = 8;
constexpr std::size_t kReservedAt = 9;
constexpr std::size_t kChunkSizeAt = 12;
constexpr std::size_t kPassesAt = 16;
constexpr std::size_t kMemoryAt = 20;
constexpr std::size_t kSaltAt = 24;
constexpr std::size_t kStreamHeaderAt = 40;
static_assert(kStreamHeaderAt + 24 == kEncryptionHeaderSize);

std::uint32_t u32_at(Bytes bytes, std::size_t at) { return little_endian(bytes.subspan(at, 4)); }

void put_u32(std::span<std::byte> bytes, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i)
    bytes[at + i] = static_cast<std::byte>(value >> (8 * i) & 0xff);
}

[[noreturn]] void damaged_header(const std::string& capsule, const std::string& fault) {
  throw UntrustedCapsuleError(
      ErrorCode::damaged_encryption,
      capsule + " has a damaged encryption header: " + fault + "; get the file again");
}

void check_range(const std::string& capsule, const char* what, std::uint32_t value,
                 std::uint32_t least, std::uint32_t most) {
  if (value >= least && value <= most) return;
  damaged_header(capsule, std::string(what) + " is " + std::to_string(value) + "; allowed is " +
                              std::to_string(least) + " to " + std::to_string(most));
}

}  // namespace

bool is_encrypted(Bytes head) noexcept {
  return head.size() >= kEncryptionMagic.size() &&
         std::ranges::equal(head.first(kEncryptionMagic.size()),
                            std::as_bytes(std::span(kEncryptionMagic)));
}

EncryptionHeader read_encryption_header(Bytes head, const std::string& capsule) {
  if (head.size() < kEncryptionHeaderSize || !is_encrypted(head))
    damaged_header(capsule, "it is cut short");
  if (const auto version = std::to_integer<int>(head[kVersionAt]); version != kEncryptionVersion)
    throw IncompatibleCapsuleError(ErrorCode::unsupported_format_version,
                                   capsule + " is encrypted in version " + std::to_string(version) +
                                       " of the format; this is vcap " +
                                       std::string(vcap::version()) +
                                       ", which knows version 1: update vcap");
  const auto mode = std::to_integer<std::uint32_t>(head[kModeAt]);
  check_range(capsule, "its mode", mode, 0, 1);
  if (!is_zero(head.subspan(kReservedAt, kChunkSizeAt - kReservedAt)))
    damaged_header(capsule, "its reserved bytes are not zero");

  EncryptionHeader header{.mode = static_cast<EncryptionHeader::Mode>(mode),
                          .chunk_size = u32_at(head, kChunkSizeAt),
                          .passes = u32_at(head, kPassesAt),
                          .memory_kib = u32_at(head, kMemoryAt)};
  check_range(capsule, "its chunk size", header.chunk_size, 1, kLargestChunk);
  if (header.mode == EncryptionHeader::Mode::passphrase) {
    check_range(capsule, "its count of Argon2id passes", header.passes, 1, kMostPasses);
    check_range(capsule, "its KiB of memory for Argon2id", header.memory_kib, kLeastMemoryKib,
                kMostMemoryKib);
  } else if (!is_zero(head.subspan(kPassesAt, kStreamHeaderAt - kPassesAt))) {
    damaged_header(capsule, "it has passphrase settings, but its mode is a raw key");
  }
  std::ranges::copy(head.subspan(kSaltAt, header.salt.size()), header.salt.begin());
  std::ranges::copy(head.subspan(kStreamHeaderAt, header.stream_header.size()),
                    header.stream_header.begin());
  return header;
}

std::array<std::byte, kEncryptionHeaderSize> encryption_header_bytes(
    const EncryptionHeader& header) {
  std::array<std::byte, kEncryptionHeaderSize> bytes{};
  std::ranges::copy(std::as_bytes(std::span(kEncryptionMagic)), bytes.begin());
  bytes[kVersionAt] = std::byte{kEncryptionVersion};
  bytes[kModeAt] = static_cast<std::byte>(header.mode);
  put_u32(bytes, kChunkSizeAt, header.chunk_size);
  put_u32(bytes, kPassesAt, header.passes);
  put_u32(bytes, kMemoryAt, header.memory_kib);
  std::ranges::copy(header.salt, bytes.begin() + kSaltAt);
  std::ranges::copy(header.stream_header, bytes.begin() + kStreamHeaderAt);
  return bytes;
}

}  // namespace vcap
