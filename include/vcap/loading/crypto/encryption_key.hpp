// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "vcap/base/export.hpp"

namespace vcap {

/// The key that encrypts and decrypts a capsule file: 32 random bytes, or a passphrase.
///
/// The secret is in memory of its own, which copies share and which is zeroed with the last of
/// them. The caller must wipe the data that it was made from. Thread safety: value.
class VCAP_EXPORT EncryptionKey {
 public:
  static constexpr std::size_t kSize = 32;

  /// New random bytes from the system's source of randomness.
  static EncryptionKey generate();
  /// Throws InvalidArgument (invalid_key) if `bytes` does not have kSize bytes.
  static EncryptionKey from_bytes(std::span<const std::byte> bytes);
  /// Reads a file of exactly kSize bytes. If others may read the file, logs a warning and uses it.
  /// Throws InvalidArgument (invalid_key).
  static EncryptionKey from_file(const std::string& path);
  /// Argon2id derives a key from it, separately for each file; that takes 256 MiB of memory and
  /// most of a second each time. Throws InvalidArgument (invalid_key) if it is empty.
  static EncryptionKey from_passphrase(std::string_view passphrase);
  /// Uses a file's first line, without its line end. Throws InvalidArgument (invalid_key).
  static EncryptionKey from_passphrase_file(const std::string& path);

  bool is_passphrase() const noexcept;

  /// Writes the bytes for from_file(), accessible only to the file's owner (mode 0600). Throws
  /// OutputError, also if `path` exists, and InvalidArgument (invalid_key) for a passphrase.
  void save(const std::string& path) const;

  /// Internal to vcap: the secret bytes.
  struct Secret;
  const Secret& secret() const& noexcept { return *secret_; }
  const Secret& secret() const&& = delete;  // would refer into a temporary

 private:
  explicit EncryptionKey(std::shared_ptr<const Secret> secret);

  std::shared_ptr<const Secret> secret_;
};

}  // namespace vcap
