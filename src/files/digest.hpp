// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "vcap/base/export.hpp"

namespace vcap {

/// SHA-256 of bytes that come in parts. By nettle, which needs no initialisation: the first digest
/// by OpenSSL 3 takes 1.2 ms of a process. Thread safety: thread-compatible.
class VCAP_EXPORT Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::span<const std::byte> bytes);
  /// 64 lower-case hexadecimal digits. No further call is allowed.
  std::string hexadecimal();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// SHA-256 as 64 lower-case hexadecimal digits. Thread-safe.
VCAP_EXPORT std::string sha256(std::span<const std::byte> bytes);
/// SHA-256 of `head` followed by `tail`.
VCAP_EXPORT std::string sha256(std::span<const std::byte> head, std::span<const std::byte> tail);

/// The CRC-32 that zip uses. Thread-safe.
VCAP_EXPORT std::uint32_t crc32(std::span<const std::byte> bytes);

/// SHA-256 and CRC-32, computed in one pass over the bytes. Thread-safe.
struct Fingerprint {
  std::string sha256{};
  std::uint32_t crc32 = 0;
};
Fingerprint fingerprint(std::span<const std::byte> bytes);

/// The same for bytes that come in parts. Thread safety: thread-compatible.
class FingerprintStream {
 public:
  void update(std::span<const std::byte> bytes);
  /// No further call is allowed.
  Fingerprint finish() { return {.sha256 = digest_.hexadecimal(), .crc32 = crc32_}; }

 private:
  Sha256 digest_;
  std::uint32_t crc32_ = 0;
};

}  // namespace vcap
