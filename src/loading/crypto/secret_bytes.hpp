// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "vcap/base/export.hpp"

namespace vcap {

/// Initialises libsodium; must be called before its other functions. Throws std::runtime_error if
/// the system has no source of randomness. Thread-safe.
VCAP_EXPORT void init_sodium();

/// Bytes between guard pages, excluded from core dumps and, if the process may lock memory, from
/// swap. Zeroed when destroyed. Thread safety: thread-compatible; moved, not copied.
class VCAP_EXPORT SecretBytes {
 public:
  /// Zeros. Throws std::bad_alloc.
  explicit SecretBytes(std::size_t size);

  std::span<std::byte> bytes() noexcept { return {data_.get(), size_}; }
  std::span<const std::byte> bytes() const noexcept { return {data_.get(), size_}; }
  std::size_t size() const noexcept { return size_; }
  /// With the pointer type that libsodium takes.
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

/// Whether a key file is secret, so that a warning is logged if others may read it.
enum class KeyFile { shown, secret };

/// The content of a key file, which is short. `what` appears in messages, such as "public key
/// file". Throws InvalidArgument (invalid_key) if it cannot be read or is too large for a key file.
VCAP_EXPORT SecretBytes read_key_file(const std::filesystem::path& path, const std::string& what,
                                      KeyFile kind);

/// Writes a new key file; a secret one is accessible only to its owner. Throws OutputError, and
/// then leaves no file.
VCAP_EXPORT void write_key_file(const std::filesystem::path& path, std::span<const std::byte> bytes,
                                KeyFile kind);

}  // namespace vcap
