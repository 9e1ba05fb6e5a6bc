// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "loading/crypto/secret_bytes.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// The key pair (Ed25519) of a login, in the text form of NATS: a seed "SU…" of 58 characters and a
/// public key "U…" of 56, each in base32 with a checksum
/// (https://github.com/nats-io/nkeys#readme). The server has only the public key.
/// Thread safety: thread-compatible; moved, not copied.
class VCAP_EXPORT Nkey {
 public:
  /// A new key from the system's source of randomness.
  static Nkey generate();
  /// Reads a file with a seed. If others may read the file, logs a warning and uses it. Throws
  /// InvalidArgument (invalid_key), without the file's content.
  static Nkey from_file(const std::string& path);

  const std::string& public_key() const& noexcept { return public_key_; }
  std::string public_key() && { return public_key_; }
  /// The subject under which this login gets its answers. It has a subject of its own, so that a
  /// server can keep logins from reading each other's answers.
  std::string inbox() const { return "_INBOX." + public_key_; }

  static constexpr std::size_t kSignatureSize = 64;
  /// The signature of what a server sends when this login connects.
  std::array<unsigned char, kSignatureSize> sign(std::string_view nonce) const;

  /// Writes a file for from_file(), accessible only to its owner; throws OutputError, also if
  /// `path` exists.
  void save(const std::string& path) const;

 private:
  explicit Nkey(SecretBytes seed);

  SecretBytes seed_;
  SecretBytes key_;  ///< in libsodium's form, which is computed from the seed
  std::string public_key_;
};

}  // namespace vcap
