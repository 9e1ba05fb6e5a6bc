// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vcap {

/// Writes a zip archive of stored entries, with the data of each at a multiple of the page size. It
/// contains nothing but the given contents: no time, no user (docs/adr/0001 says why libzip is not
/// used). Thread safety: thread-compatible.
class ArchiveWriter {
 public:
  using Bytes = std::span<const std::byte>;
  /// Takes the archive's next bytes; its exceptions are passed on.
  using Sink = std::function<void(Bytes)>;

  /// Sizes and offsets from `zip64_from` on are written in zip64 records. Tests use a small value,
  /// so that they need no file of 4 GiB.
  explicit ArchiveWriter(Sink sink, std::uint64_t zip64_from = 0xffffffff);

  /// `name` must be a valid entry name that is not used yet; `crc32` is that of `content`.
  void add(std::string_view name, Bytes content, std::uint32_t crc32);
  /// Writes the directory; must be the last call.
  void finish();

 private:
  struct Entry {
    std::string name;
    std::uint32_t crc32;
    std::uint64_t size;
    std::uint64_t offset;
  };

  bool is_large(std::uint64_t value) const noexcept { return value >= zip64_from_; }
  void write(Bytes bytes);
  void write_directory_header(const Entry& entry);
  void write_end(std::uint64_t directory_offset, std::uint64_t directory_size);

  Sink sink_;
  std::uint64_t zip64_from_;
  std::uint64_t offset_ = 0;  ///< bytes written
  std::vector<Entry> entries_{};
};

}  // namespace vcap
