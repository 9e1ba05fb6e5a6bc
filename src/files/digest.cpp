// SPDX-License-Identifier: Apache-2.0
#include "files/digest.hpp"

#include <libdeflate.h>
#include <nettle/sha2.h>

#include <algorithm>
#include <array>

namespace vcap {

struct Sha256::State {
  sha256_ctx context{};
};

Sha256::Sha256() : state_(std::make_unique<State>()) { sha256_init(&state_->context); }
Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes) {
  sha256_update(&state_->context, bytes.size(),
                reinterpret_cast<const std::uint8_t*>(bytes.data()));
}

std::string Sha256::hexadecimal() {
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  sha256_digest(&state_->context, digest.size(), digest.data());
  std::string text;
  text.reserve(2 * digest.size());
  for (const std::uint8_t byte : digest) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

namespace {

std::uint32_t continue_crc32(std::uint32_t crc, std::span<const std::byte> bytes) {
  return libdeflate_crc32(crc, bytes.data(), bytes.size());
}

}  // namespace

std::string sha256(std::span<const std::byte> bytes) {
  Sha256 digest;
  digest.update(bytes);
  return digest.hexadecimal();
}

std::string sha256(std::span<const std::byte> head, std::span<const std::byte> tail) {
  Sha256 digest;
  digest.update(head);
  digest.update(tail);
  return digest.hexadecimal();
}

std::uint32_t crc32(std::span<const std::byte> bytes) {
  // libdeflate takes a null pointer as a request for the initial value. That is the CRC of no
  // bytes: 0.
  return bytes.empty() ? 0 : continue_crc32(0, bytes);
}

void FingerprintStream::update(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    // Fits into the second-level cache, so that memory is read once for both.
    constexpr std::size_t kPart = std::size_t{256} << 10;
    const auto part = bytes.first(std::min(bytes.size(), kPart));
    digest_.update(part);
    crc32_ = continue_crc32(crc32_, part);
    bytes = bytes.subspan(part.size());
  }
}

Fingerprint fingerprint(std::span<const std::byte> bytes) {
  FingerprintStream stream;
  stream.update(bytes);
  return stream.finish();
}

}  // namespace vcap
