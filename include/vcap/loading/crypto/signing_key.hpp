// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "vcap/base/export.hpp"

namespace vcap {

/// The id of a public key: the first 8 bytes of its SHA-256. Thread safety: value.
class VCAP_EXPORT KeyId {
 public:
  using Bytes = std::array<std::byte, 8>;

  /// All zeros; no key has this id.
  KeyId() = default;
  explicit KeyId(const Bytes& bytes) noexcept : bytes_(bytes) {}
  /// Reads 16 hexadecimal digits; throws InvalidArgument (invalid_key).
  static KeyId parse(std::string_view text);

  /// 16 lower-case hexadecimal digits.
  std::string to_string() const;
  const Bytes& bytes() const& noexcept { return bytes_; }
  Bytes bytes() && noexcept { return bytes_; }

  auto operator<=>(const KeyId&) const = default;

 private:
  Bytes bytes_{};
};

/// An Ed25519 signature (RFC 8032).
using Signature = std::array<std::byte, 64>;

/// The public half of an Ed25519 key pair, which verifies signatures; it need not be secret. Thread
/// safety: value.
class VCAP_EXPORT PublicKey {
 public:
  using Bytes = std::array<std::byte, 32>;

  /// Reads "vcap-public-key-1:" and 44 characters of base64; ignores space after it. Throws
  /// InvalidArgument (invalid_key).
  static PublicKey parse(std::string_view text);
  /// Reads a file with that line; throws InvalidArgument (invalid_key) naming the file.
  static PublicKey from_file(const std::string& path);

  /// The line that parse() reads, without a newline.
  std::string to_string() const;
  KeyId id() const;
  const Bytes& bytes() const& noexcept { return bytes_; }
  Bytes bytes() && noexcept { return bytes_; }
  bool verifies(std::span<const std::byte> message, const Signature& signature) const;

  /// Writes a file with that line; throws OutputError, also if `path` exists.
  void save(const std::string& path) const;

  bool operator==(const PublicKey&) const = default;

 private:
  friend class SecretKey;
  explicit PublicKey(const Bytes& bytes) noexcept : bytes_(bytes) {}

  Bytes bytes_;
};

/// The secret half of an Ed25519 key pair, which signs. Copies share the bytes, which are zeroed
/// with the last copy. Thread safety: value.
class VCAP_EXPORT SecretKey {
 public:
  /// A new key from the system's source of randomness.
  static SecretKey generate();
  /// Reads a file with the line "vcap-secret-key-1:" and 44 characters of base64. If others may
  /// read the file, logs a warning and uses it. Throws InvalidArgument (invalid_key).
  static SecretKey from_file(const std::string& path);

  const PublicKey& public_key() const& noexcept { return public_key_; }
  PublicKey public_key() && noexcept { return public_key_; }
  Signature sign(std::span<const std::byte> message) const;

  /// Writes a file for from_file(), accessible only to its owner (mode 0600); throws OutputError,
  /// also if `path` exists.
  void save(const std::string& path) const;

 private:
  struct Secret;
  SecretKey(std::shared_ptr<const Secret> secret, const PublicKey& public_key);
  static SecretKey from_seed(std::span<const std::byte, 32> seed);

  std::shared_ptr<const Secret> secret_;
  PublicKey public_key_;
};

}  // namespace vcap
