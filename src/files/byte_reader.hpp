// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "files/mapped_file.hpp"

namespace vcap {

/// Takes the next bytes of something that comes in blocks. Its exceptions are passed on.
using TakeBlock = std::function<void(std::span<const std::byte>)>;

/// Reads a capsule's file by offset, and does not map it.
///
/// So a file that somebody else truncates meanwhile gives an error here, not SIGBUS, and no more of
/// it is in memory than a caller asks for. Also reads bytes in memory. Thread safety: thread-safe,
/// but mapped() and bytes() are thread-compatible.
class ByteReader {
 public:
  using Bytes = std::span<const std::byte>;

  /// `name` begins messages, such as `capsule file "a.cap"`.
  ByteReader(OpenFile file, std::string name);
  /// Bytes in memory that no other process can truncate.
  ByteReader(std::shared_ptr<const MappedFile> memory, std::string name);
  /// The caller's bytes, which must outlive this.
  ByteReader(Bytes bytes, std::string name);
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  /// In bytes, when it was opened.
  std::uint64_t size() const noexcept { return size_; }

  /// Fills `into` with the bytes at `offset`, which must be within size(). Throws
  /// InvalidCapsuleError: capsule_changed if the file has fewer bytes by now, not_an_archive if it
  /// cannot be read. The message names the file, the offset and the remedy.
  void read(std::uint64_t offset, std::span<std::byte> into) const;
  /// The same, as new bytes.
  std::vector<std::byte> read(std::uint64_t offset, std::uint64_t count) const;
  /// Gives `count` bytes from `offset` on, in blocks of at most kBlock bytes. Throws as read().
  void for_each_block(std::uint64_t offset, std::uint64_t count, const TakeBlock& take) const;

  /// The bytes as a mapping, made at the first call; for whoever uses them after they were checked.
  /// Throws InvalidCapsuleError (capsule_changed) if the file has another size by now, and
  /// CapsuleLoadError (limit_exceeded) if memory is short.
  std::shared_ptr<const MappedFile> mapped() const;
  Bytes bytes() const { return mapped()->bytes(); }
  /// Copies the caller's bytes, so that they need not outlive this; nothing for others. Throws as
  /// mapped().
  void keep() const;
  /// See MappedFile::release_pages(); nothing if there is no mapping.
  void release_pages() const noexcept;

  /// How many bytes were read so far.
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }

  /// Fits into the second-level cache, so that memory is read once for all that a block is used
  /// for.
  static constexpr std::size_t kBlock = std::size_t{256} << 10;

 private:
  [[noreturn]] void fail_read(std::uint64_t offset, int error) const;
  [[noreturn]] void fail_changed(std::uint64_t offset) const;

  std::string name_;
  OpenFile file_{};  ///< not open if the bytes are in memory
  mutable std::shared_ptr<const MappedFile> mapped_{};
  mutable Bytes memory_{};
  std::uint64_t size_;
  mutable std::atomic<std::uint64_t> bytes_read_{0};
};

}  // namespace vcap
