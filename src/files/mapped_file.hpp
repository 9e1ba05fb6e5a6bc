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

/// Throws std::system_error where the file cannot be opened, or is no regular file (EISDIR for a
/// folder, ENOTSUP for the rest). Never blocks on a pipe.
OpenFile open_regular_file(const std::filesystem::path& path);

/// The bytes of a file, read-only and page-aligned: mapped, not read.
///
/// The file is opened once: another file put in its place by a rename changes nothing here.
/// Writing into the file or cutting it short is seen here, the latter as SIGBUS
/// (docs/capsule-format.md says what that asks of those who replace capsules).
/// Thread safety: thread-safe, being constant.
class VCAP_EXPORT MappedFile {
 public:
  using Bytes = std::span<const std::byte>;

  /// Throws std::system_error, as open_regular_file does.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  /// Maps an open file, which the mapping holds without the descriptor. Throws std::system_error.
  static std::shared_ptr<const MappedFile> map(const OpenFile& file);
  /// The same of a file that is open for reading, and may be closed then.
  static std::shared_ptr<const MappedFile> of(int fd);
  /// A copy of bytes that somebody else owns. Throws std::system_error where memory is short.
  static std::shared_ptr<const MappedFile> copy(Bytes bytes);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  Bytes bytes() const noexcept { return {data_, size_}; }

  /// Gives the memory of a mapped file back to the system, which reads again what is touched again.
  /// The bytes stay as they are. A copy keeps its memory.
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
