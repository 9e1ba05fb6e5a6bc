// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "loading/archive/archive_records.hpp"

namespace vcap {

/// Writes a zip archive of stored entries, with the data of each at a multiple of the page size. It
/// contains nothing but the given contents: no time, no user (docs/adr/0001 says why libzip is not
/// used). Thread safety: thread-compatible.
class ArchiveWriter {
 public:
  using Bytes = std::span<const std::byte>;
  /// Takes the archive's next bytes; its exceptions are passed on.
  using Sink = std::function<void(Bytes)>;

  /// `zip64_from`: see ArchiveRecords.
  explicit ArchiveWriter(Sink sink, std::uint64_t zip64_from = zip::kIn64);

  /// `name` must be a valid entry name that is not used yet; `crc32` is that of `content`.
  void add(std::string_view name, Bytes content, std::uint32_t crc32);
  /// Writes the directory; must be the last call.
  void finish();

 private:
  void write(Bytes bytes);

  Sink sink_;
  ArchiveRecords records_;
  std::uint64_t offset_ = 0;  ///< bytes written
  std::vector<ArchiveEntry> entries_{};
};

}  // namespace vcap
