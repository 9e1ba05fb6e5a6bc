// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "files/file_descriptor.hpp"
#include "files/mapped_file.hpp"

namespace vcap {

/// A memory file that is filled once, and then sealed: nobody can change it any more, not even
/// this process. Thread safety: thread-compatible.
class SealedMemory {
 public:
  /// Zeros; the memory is taken here. Throws std::system_error where there is not enough of it.
  explicit SealedMemory(std::size_t size);
  SealedMemory(const SealedMemory&) = delete;
  SealedMemory& operator=(const SealedMemory&) = delete;
  ~SealedMemory();

  std::span<std::byte> bytes() noexcept { return {data_, size_}; }

  /// Once, at the end: bytes() is gone after it. Throws std::system_error.
  std::shared_ptr<const MappedFile> seal();

 private:
  void unmap() noexcept;

  FileDescriptor fd_;
  std::byte* data_ = nullptr;
  std::size_t size_;
};

}  // namespace vcap
