// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "vcap/base/export.hpp"

namespace vcap {

/// SHA-256 as 64 lower-case hexadecimal digits. Thread-safe.
VCAP_EXPORT std::string sha256(std::span<const std::byte> bytes);
/// Of `head` with `tail` behind it.
VCAP_EXPORT std::string sha256(std::span<const std::byte> head, std::span<const std::byte> tail);

/// The checksum that zip asks for. Thread-safe.
VCAP_EXPORT std::uint32_t crc32(std::span<const std::byte> bytes);

/// Both, in one pass over the bytes. Thread-safe.
struct Fingerprint {
  std::string sha256{};
  std::uint32_t crc32 = 0;
};
VCAP_EXPORT Fingerprint fingerprint(std::span<const std::byte> bytes);

}  // namespace vcap
