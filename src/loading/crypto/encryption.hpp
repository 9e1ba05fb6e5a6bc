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
#include "vcap/base/export.hpp"
#include "vcap/loading/crypto/encryption_key.hpp"

namespace vcap {

struct SecretStream;

/// How a file is encrypted; tests take small values.
struct EncryptionSettings {
  std::uint32_t chunk_size = 64u << 10;
  // What libsodium names moderate: a second on a slow core, for the one who knows the passphrase
  // as for each guess of one who does not.
  std::uint32_t passes = 3;
  std::uint32_t memory_kib = 256u << 10;
};

/// Writes an encrypted capsule file: the header, then libsodium's XChaCha20-Poly1305 secretstream
/// in chunks, the header's bytes authenticated with the first of them.
/// Thread safety: thread-compatible.
class VCAP_EXPORT EncryptingWriter {
 public:
  using Bytes = std::span<const std::byte>;
  /// Takes the file's next bytes; what it throws goes through.
  using Sink = std::function<void(Bytes)>;

  /// Throws std::bad_alloc where there is no memory for a passphrase.
  EncryptingWriter(Sink sink, const EncryptionKey& key, const EncryptionSettings& settings = {});
  EncryptingWriter(const EncryptingWriter&) = delete;
  EncryptingWriter& operator=(const EncryptingWriter&) = delete;
  ~EncryptingWriter();

  void write(Bytes bytes);
  /// Marks the last chunk; nothing comes after it.
  void finish();

 private:
  void push(Bytes chunk, bool is_last);

  Sink sink_;
  std::unique_ptr<SecretStream> stream_;
  std::vector<std::byte> header_;   ///< until the first chunk is written
  std::vector<std::byte> waiting_;  ///< less than a chunk, or the whole of what may be the last
  std::vector<std::byte> packed_;
  std::size_t chunk_size_;
};

/// Reads exactly `into.size()` bytes of a file; throws where they are not there.
using ReadAt = std::function<void(std::uint64_t offset, std::span<std::byte> into)>;

/// Decrypts a file of that size into sealed memory. Every byte is read once, so that it may change
/// meanwhile; the memory for the whole is taken when the first chunk has shown that the key is
/// right. `max_bytes` is ArchiveLimits::total_bytes; `capsule` stands in messages. Throws
/// UntrustedCapsuleError (wrong_key,
/// damaged_encryption), InvalidCapsuleError and CapsuleLoadError (limit_exceeded), what
/// read_encryption_header throws, what `read` throws, and std::system_error where memory is short.
/// Thread-safe.
VCAP_EXPORT std::shared_ptr<const MappedFile> decrypt(const ReadAt& read, std::uint64_t size,
                                                      const EncryptionKey& key,
                                                      std::uint64_t max_bytes,
                                                      const std::string& capsule);

}  // namespace vcap
