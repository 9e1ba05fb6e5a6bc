// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "files/file_descriptor.hpp"
#include "files/mapped_file.hpp"

namespace vcap {

/// A memory file that is written once, from its beginning to its end, and then sealed. After that
/// it cannot change, not even by this process. It takes as much memory as was written. Thread
/// safety: thread-compatible.
class SealedMemory {
 public:
  /// Makes an empty file; `name` is shown in /proc/<pid>/maps. Throws std::system_error.
  explicit SealedMemory(const char* name);

  /// Throws std::system_error if memory is short.
  void append(std::span<const std::byte> bytes);
  /// Call once, at the end. Throws std::system_error.
  std::shared_ptr<const MappedFile> seal();
  /// The same, as an open file.
  OpenFile seal_file();

 private:
  FileDescriptor fd_;
  std::size_t size_ = 0;
};

}  // namespace vcap
