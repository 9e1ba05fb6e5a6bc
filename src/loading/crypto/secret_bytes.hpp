// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace vcap {

/// Makes libsodium ready; before any other call of it. Throws std::runtime_error where the system
/// has no source of randomness. Thread-safe.
void init_sodium();

/// Bytes between guard pages, kept out of core dumps and, where the process may lock memory, out of
/// swap; zeroed with their owner. Thread safety: thread-compatible; moved, not copied.
class SecretBytes {
 public:
  /// Zeros. Throws std::bad_alloc.
  explicit SecretBytes(std::size_t size);

  std::span<std::byte> bytes() noexcept { return {data_.get(), size_}; }
  std::span<const std::byte> bytes() const noexcept { return {data_.get(), size_}; }
  std::size_t size() const noexcept { return size_; }
  /// As libsodium takes them.
  unsigned char* data() noexcept { return reinterpret_cast<unsigned char*>(data_.get()); }
  const unsigned char* data() const noexcept {
    return reinterpret_cast<const unsigned char*>(data_.get());
  }

 private:
  struct Free {
    void operator()(std::byte* data) const noexcept;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_;
};

/// Whether a key file's secrets are worth a warning where others may read them.
enum class KeyFile { shown, secret };

/// The whole of a key file, which is short. `what` stands in messages, such as "public key file".
/// Throws InvalidArgument (invalid_key) where it cannot be read or is no key file by its size.
SecretBytes read_key_file(const std::filesystem::path& path, const std::string& what, KeyFile kind);

/// Writes a key file that was not there; one that is secret is for its owner alone. Throws
/// OutputError, and leaves no file then.
void write_key_file(const std::filesystem::path& path, std::span<const std::byte> bytes,
                    KeyFile kind);

}  // namespace vcap
