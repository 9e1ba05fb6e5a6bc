// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "files/file_descriptor.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// A regular file, open for reading.
struct OpenFile {
  FileDescriptor fd{};
  std::size_t size = 0;
};

/// Throws std::system_error if the file cannot be opened or is not a regular file (EISDIR for a
/// folder, otherwise ENOTSUP). Never blocks on a pipe.
VCAP_EXPORT OpenFile open_regular_file(const std::filesystem::path& path);

/// The bytes of a file, read-only and page-aligned: mapped, not read.
///
/// The file is opened once, so a rename that replaces it changes nothing here. Writes into the file
/// are visible here; truncating it causes SIGBUS (docs/capsule-format.md says what this means for
/// replacing capsules). Thread safety: thread-safe, since it is constant.
class VCAP_EXPORT MappedFile {
 public:
  using Bytes = std::span<const std::byte>;

  /// Throws std::system_error, like open_regular_file.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  /// Maps an open file; the mapping does not need the descriptor. Throws std::system_error.
  static std::shared_ptr<const MappedFile> map(const OpenFile& file);
  /// Maps a file that is open for reading; the descriptor may then be closed. Throws
  /// std::system_error.
  static std::shared_ptr<const MappedFile> of(int fd);
  /// A copy of the caller's bytes. Throws std::system_error if memory is short.
  static std::shared_ptr<const MappedFile> copy(Bytes bytes);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  Bytes bytes() const noexcept { return {data_, size_}; }

  /// Gives the memory of a mapped file back to the system, which reads a page again when it is
  /// accessed. The bytes stay the same. A copy keeps its memory.
  void release_pages() const noexcept;

 private:
  static std::shared_ptr<const MappedFile> map(int fd, std::size_t size);
  MappedFile(const std::byte* data, std::size_t size, bool is_copy) noexcept
      : data_(data), size_(size), is_copy_(is_copy) {}

  const std::byte* data_;
  std::size_t size_;
  bool is_copy_;
};

}  // namespace vcap
