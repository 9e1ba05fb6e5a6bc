// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "files/file_descriptor.hpp"
#include "files/mapped_file.hpp"

namespace vcap {

/// A memory file that is filled once and then sealed. After that it cannot change, not even by this
/// process. Thread safety: thread-compatible.
class SealedMemory {
 public:
  /// Allocates `size` zero bytes. Throws std::system_error if memory is short.
  explicit SealedMemory(std::size_t size);
  SealedMemory(const SealedMemory&) = delete;
  SealedMemory& operator=(const SealedMemory&) = delete;
  ~SealedMemory();

  std::span<std::byte> bytes() noexcept { return {data_, size_}; }

  /// Call once, at the end; bytes() is invalid afterwards. Throws std::system_error.
  std::shared_ptr<const MappedFile> seal();

 private:
  void unmap() noexcept;

  FileDescriptor fd_;
  std::byte* data_ = nullptr;
  std::size_t size_;
};

}  // namespace vcap
