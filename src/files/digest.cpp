// SPDX-License-Identifier: Apache-2.0
#include "files/digest.hpp"

#include <libdeflate.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>

namespace vcap {
namespace {

/// SHA-256 by OpenSSL; fails only if memory is short.
class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    if (context_ == nullptr || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
      throw std::bad_alloc();
  }

  void update(std::span<const std::byte> bytes) {
    if (EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1) throw std::bad_alloc();
  }

  std::string hexadecimal() {
    std::array<unsigned char, 32> digest{};
    if (EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) != 1) throw std::bad_alloc();
    std::string text;
    text.reserve(2 * digest.size());
    for (const unsigned char byte : digest) {
      constexpr char kDigits[] = "0123456789abcdef";
      text += kDigits[byte >> 4];
      text += kDigits[byte & 15];
    }
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

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

Fingerprint fingerprint(std::span<const std::byte> bytes) {
  Sha256 digest;
  std::uint32_t crc = 0;
  while (!bytes.empty()) {
    // Fits into the second-level cache, so that memory is read once for both.
    constexpr std::size_t kPart = std::size_t{256} << 10;
    const auto part = bytes.first(std::min(bytes.size(), kPart));
    digest.update(part);
    crc = continue_crc32(crc, part);
    bytes = bytes.subspan(part.size());
  }
  return {digest.hexadecimal(), crc};
}

}  // namespace vcap
