// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "files/mapped_file.hpp"
#include "vcap/loading/crypto/encryption_key.hpp"

namespace vcap {

struct SecretStream;

/// How a file is encrypted; tests use small values.
struct EncryptionSettings {
  std::uint32_t chunk_size = 64u << 10;
  // libsodium's "moderate" values: a second on a slow core, both for the owner of the passphrase
  // and for each guess of an attacker.
  std::uint32_t passes = 3;
  std::uint32_t memory_kib = 256u << 10;
};

/// Writes an encrypted capsule file: the header, then libsodium's XChaCha20-Poly1305 secretstream
/// in chunks. The first chunk also authenticates the header. Thread safety: thread-compatible.
class EncryptingWriter {
 public:
  using Bytes = std::span<const std::byte>;
  /// Takes the file's next bytes; its exceptions are passed on.
  using Sink = std::function<void(Bytes)>;

  /// Throws std::bad_alloc if there is not enough memory to derive a key from a passphrase.
  EncryptingWriter(Sink sink, const EncryptionKey& key, const EncryptionSettings& settings = {});
  EncryptingWriter(const EncryptingWriter&) = delete;
  EncryptingWriter& operator=(const EncryptingWriter&) = delete;
  ~EncryptingWriter();

  void write(Bytes bytes);
  /// Writes and marks the last chunk; must be the last call.
  void finish();

 private:
  void push(Bytes chunk, bool is_last);

  Sink sink_;
  std::unique_ptr<SecretStream> stream_;
  std::vector<std::byte> header_;   ///< until the first chunk is written
  std::vector<std::byte> waiting_;  ///< less than a chunk, or a full one that may be the last
  std::vector<std::byte> packed_;
  std::size_t chunk_size_;
};

/// Reads exactly `into.size()` bytes of a file; throws if they are not there.
using ReadAt = std::function<void(std::uint64_t offset, std::span<std::byte> into)>;

/// Decrypts a file of `size` bytes into sealed memory. Every byte is read once, so the file may
/// change meanwhile. The memory grows with the chunks that the key has authenticated. `max_bytes`
/// is ArchiveLimits::total_bytes; `capsule` appears in messages. Throws UntrustedCapsuleError
/// (wrong_key, damaged_encryption), InvalidCapsuleError and CapsuleLoadError (limit_exceeded), what
/// read_encryption_header and `read` throw, and std::system_error if memory is short. Thread-safe.
std::shared_ptr<const MappedFile> decrypt(const ReadAt& read, std::uint64_t size,
                                          const EncryptionKey& key, std::uint64_t max_bytes,
                                          const std::string& capsule);

}  // namespace vcap
