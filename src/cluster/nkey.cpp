// SPDX-License-Identifier: Apache-2.0
#include "cluster/nkey.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

// The form of the text, from the first bytes that it encodes.
constexpr unsigned kSeedPrefix = 18u << 3;  // 'S'
constexpr unsigned kUserPrefix = 20u << 3;  // 'U'
constexpr std::size_t kSeedSize = crypto_sign_SEEDBYTES;
constexpr std::size_t kChecksumSize = 2;
constexpr std::size_t kSeedTextSize = 58;
static_assert(Nkey::kSignatureSize == crypto_sign_BYTES);

/// CRC-16/XMODEM.
std::uint16_t checksum(std::span<const unsigned char> bytes) {
  unsigned crc = 0;
  for (const unsigned char byte : bytes) {
    crc ^= static_cast<unsigned>(byte) << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000u) != 0 ? (crc << 1) ^ 0x1021u : crc << 1;
    crc &= 0xffffu;
  }
  return static_cast<std::uint16_t>(crc);
}

/// Puts the checksum of the rest into the last two bytes.
void add_checksum(std::span<unsigned char> bytes) {
  const std::uint16_t crc = checksum(bytes.first(bytes.size() - kChecksumSize));
  bytes[bytes.size() - 2] = static_cast<unsigned char>(crc & 0xffu);
  bytes[bytes.size() - 1] = static_cast<unsigned char>(crc >> 8);
}

constexpr std::size_t base32_size(std::size_t bytes) { return (bytes * 8 + 4) / 5; }
static_assert(base32_size(2 + kSeedSize + kChecksumSize) == kSeedTextSize);

/// RFC 4648, without padding. `text` has base32_size(bytes.size()) characters.
void to_base32(std::span<const unsigned char> bytes, std::span<char> text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  unsigned bits = 0;
  unsigned count = 0;
  std::size_t place = 0;
  for (const unsigned char byte : bytes) {
    bits = (bits << 8 | byte) & 0xffffu;
    for (count += 8; count >= 5; count -= 5) text[place++] = kDigits[(bits >> (count - 5)) & 31u];
  }
  if (count > 0) text[place] = kDigits[(bits << (5 - count)) & 31u];
}

/// False if the text is not base32, or not of that many bytes.
bool from_base32(std::string_view text, std::span<unsigned char> bytes) {
  if (text.size() != base32_size(bytes.size())) return false;
  unsigned bits = 0;
  unsigned count = 0;
  std::size_t place = 0;
  for (const char c : text) {
    const bool is_letter = c >= 'A' && c <= 'Z';
    if (!is_letter && !(c >= '2' && c <= '7')) return false;
    bits = (bits << 5 | static_cast<unsigned>(is_letter ? c - 'A' : c - '2' + 26)) & 0xffffu;
    count += 5;
    if (count >= 8) {
      count -= 8;
      bytes[place++] = static_cast<unsigned char>((bits >> count) & 0xffu);
    }
  }
  return place == bytes.size();
}

std::span<unsigned char> span_of(SecretBytes& bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace

Nkey::Nkey(SecretBytes seed) : seed_(std::move(seed)), key_(crypto_sign_SECRETKEYBYTES) {
  std::array<unsigned char, 1 + crypto_sign_PUBLICKEYBYTES + kChecksumSize> encoded{kUserPrefix};
  ::crypto_sign_seed_keypair(encoded.data() + 1, key_.data(), seed_.data());
  add_checksum(encoded);
  public_key_.resize(base32_size(encoded.size()));
  to_base32(encoded, public_key_);
}

Nkey Nkey::generate() {
  SecretBytes seed(kSeedSize);
  ::randombytes_buf(seed.data(), seed.size());
  return Nkey(std::move(seed));
}

Nkey Nkey::from_file(const std::string& path) {
  SecretBytes content = read_key_file(path, "NKey file", KeyFile::secret);
  std::string_view text{reinterpret_cast<const char*>(content.data()), content.size()};
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  SecretBytes encoded(2 + kSeedSize + kChecksumSize);
  SecretBytes expected(encoded.size());
  bool is_valid = from_base32(text, span_of(encoded));
  if (is_valid) {
    std::ranges::copy(encoded.bytes(), expected.bytes().begin());
    expected.data()[0] = kSeedPrefix | kUserPrefix >> 5;
    expected.data()[1] = (kUserPrefix & 31u) << 3;
    add_checksum(span_of(expected));
    is_valid = std::ranges::equal(encoded.bytes(), expected.bytes());
  }
  if (!is_valid)
    throw InvalidArgument(
        ErrorCode::invalid_key,
        "NKey file " + quote(path) +
            " has no valid seed of a user; a seed is one line of \"SU\" and 56 characters, as "
            "`vcap cluster config` writes it");
  SecretBytes seed(kSeedSize);
  std::ranges::copy(encoded.bytes().subspan(2, kSeedSize), seed.bytes().begin());
  return Nkey(std::move(seed));
}

std::array<unsigned char, Nkey::kSignatureSize> Nkey::sign(std::string_view nonce) const {
  std::array<unsigned char, kSignatureSize> signature{};
  ::crypto_sign_detached(signature.data(), nullptr,
                         reinterpret_cast<const unsigned char*>(nonce.data()), nonce.size(),
                         key_.data());
  return signature;
}

void Nkey::save(const std::string& path) const {
  SecretBytes encoded(2 + kSeedSize + kChecksumSize);
  encoded.data()[0] = kSeedPrefix | kUserPrefix >> 5;
  encoded.data()[1] = (kUserPrefix & 31u) << 3;
  std::ranges::copy(seed_.bytes(), encoded.bytes().begin() + 2);
  add_checksum(span_of(encoded));
  SecretBytes line(kSeedTextSize + 1);
  to_base32(span_of(encoded), {reinterpret_cast<char*>(line.data()), kSeedTextSize});
  line.bytes().back() = static_cast<std::byte>('\n');
  write_key_file(path, line.bytes(), KeyFile::secret);
}

}  // namespace vcap
