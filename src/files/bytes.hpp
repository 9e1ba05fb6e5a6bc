// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace vcap {

/// The bytes with the pointer type that libsodium takes.
inline const unsigned char* unsigned_data(std::span<const std::byte> bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
inline unsigned char* writable_data(std::span<std::byte> bytes) noexcept {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

inline bool is_zero(std::span<const std::byte> bytes) noexcept {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

/// Reads a little-endian number of at most 4 bytes.
inline std::uint32_t little_endian(std::span<const std::byte> bytes) noexcept {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i)
    value = value << 8 | std::to_integer<std::uint32_t>(bytes[i - 1]);
  return value;
}

}  // namespace vcap
