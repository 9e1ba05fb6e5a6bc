// SPDX-License-Identifier: Apache-2.0
#include "vcap/model/uuid.hpp"

#include <cstring>
#include <random>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::size_t kTextLength = 36;

bool is_hyphen_place(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

[[noreturn]] void refuse(std::string_view text) {
  throw InvalidArgument(
      ErrorCode::invalid_argument,
      quote(text) + " is not a UUID; it must be 32 hexadecimal digits in groups of 8-4-4-4-12");
}

unsigned digit_value(char c, std::string_view text) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
  refuse(text);
}

}  // namespace

Uuid Uuid::random() {
  // One for each thread: its operator() is not thread-safe.
  thread_local std::random_device source;
  const auto draw = [] { return (std::uint64_t{source()} << 32u) | source(); };
  const std::uint64_t high = draw();
  return from_bits(high, draw());
}

// RFC 9562, section 5.4.
Uuid Uuid::from_bits(std::uint64_t high, std::uint64_t low) noexcept {
  high = (high & ~std::uint64_t{0xF000}) | 0x4000u;
  low = (low & (~std::uint64_t{0} >> 2u)) | (std::uint64_t{1} << 63u);
  Uuid uuid;
  for (std::size_t i = 0; i < 8; ++i) {
    const auto shift = static_cast<unsigned>(56 - 8 * i);
    uuid.bytes_[i] = static_cast<std::uint8_t>(high >> shift);
    uuid.bytes_[8 + i] = static_cast<std::uint8_t>(low >> shift);
  }
  return uuid;
}

Uuid Uuid::parse(std::string_view text) {
  if (text.size() != kTextLength) refuse(text);
  Uuid uuid;
  std::size_t digits = 0;
  for (std::size_t i = 0; i < kTextLength; ++i) {
    if (is_hyphen_place(i)) {
      if (text[i] != '-') refuse(text);
      continue;
    }
    std::uint8_t& byte = uuid.bytes_[digits++ / 2];
    byte = static_cast<std::uint8_t>((unsigned{byte} << 4u) | digit_value(text[i], text));
  }
  return uuid;
}

std::string Uuid::to_string() const {
  std::string text;
  text.reserve(kTextLength);
  for (const std::uint8_t byte : bytes_) {
    if (is_hyphen_place(text.size())) text += '-';
    text += kDigits[byte >> 4u];
    text += kDigits[byte & 0xFu];
  }
  return text;
}

}  // namespace vcap

std::size_t std::hash<vcap::Uuid>::operator()(const vcap::Uuid& uuid) const noexcept {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  std::memcpy(&high, uuid.bytes().data(), sizeof high);
  std::memcpy(&low, uuid.bytes().data() + sizeof high, sizeof low);
  // Multiplied by an odd constant, so that identifiers made by counting do not collide either.
  return static_cast<std::size_t>(high * 0x9E3779B97F4A7C15u ^ low);
}
