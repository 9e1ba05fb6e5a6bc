// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vcap {

/// Appends a number in 1 to 10 bytes (LEB128).
inline void put_varint(std::string& to, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) to += static_cast<char>((number & 0x7f) | 0x80);
  to += static_cast<char>(number);
}

/// Takes a number from the beginning; `nullopt` if there is none.
inline std::optional<std::uint64_t> take_varint(std::string_view& from) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; !from.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(from.front());
    from.remove_prefix(1);
    if (shift == 63 && byte > 1) return std::nullopt;
    number |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return number;
  }
  return std::nullopt;
}

}  // namespace vcap
