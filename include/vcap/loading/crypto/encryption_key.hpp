// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "vcap/base/export.hpp"

namespace vcap {

/// What encrypts a capsule file, and decrypts it again: 32 random bytes, or a passphrase.
///
/// The secret lies in memory of its own, shared by copies and zeroed with the last of them; what
/// it is made from is the caller's to wipe. Thread safety: value.
class VCAP_EXPORT EncryptionKey {
 public:
  static constexpr std::size_t kSize = 32;

  /// New random bytes, from the system's source of randomness.
  static EncryptionKey generate();
  /// Throws InvalidArgument (invalid_key) where they are not kSize.
  static EncryptionKey from_bytes(std::span<const std::byte> bytes);
  /// Of a file of exactly kSize bytes. A file that others may read is taken, with a warning in the
  /// log. Throws InvalidArgument (invalid_key).
  static EncryptionKey from_file(const std::filesystem::path& path);
  /// Argon2id makes a key of it, anew for every file: that takes 256 MiB of memory and most of a
  /// second for each. Throws InvalidArgument (invalid_key) where it is empty.
  static EncryptionKey from_passphrase(std::string_view passphrase);
  /// Of a file's first line, without its end. Throws InvalidArgument (invalid_key).
  static EncryptionKey from_passphrase_file(const std::filesystem::path& path);

  bool is_passphrase() const noexcept;

  /// Writes the bytes for from_file(), for the file's owner alone (mode 0600); throws OutputError,
  /// also where `path` is there already, and InvalidArgument (invalid_key) for a passphrase.
  void save(const std::filesystem::path& path) const;

  /// vcap's own: the secret bytes.
  struct Secret;
  const Secret& secret() const noexcept { return *secret_; }

 private:
  explicit EncryptionKey(std::shared_ptr<const Secret> secret);

  std::shared_ptr<const Secret> secret_;
};

}  // namespace vcap
