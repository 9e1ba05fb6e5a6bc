// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loading/archive/zip_format.hpp"

namespace vcap {

/// A file in an archive.
struct ArchiveEntry {
  std::string name{};
  std::uint32_t crc32 = 0;
  std::uint64_t size = 0;
  std::uint64_t header_offset = 0;
  std::uint64_t data_offset = 0;  ///< position of its bytes in the archive, a multiple of 4096

  bool operator==(const ArchiveEntry&) const = default;
};

/// The one form that the records of a capsule's archive have: every field but the contents.
///
/// The writer writes these bytes, and the reader accepts no others. Thread safety: value.
class ArchiveRecords {
 public:
  using Record = std::vector<std::byte>;

  /// Sizes and offsets from `zip64_from` on are in zip64 records. Tests use a small value, so that
  /// they need no file of 4 GiB.
  explicit ArchiveRecords(std::uint64_t zip64_from = zip::kIn64) : zip64_from_(zip64_from) {}

  /// The header before the data of an entry, with the padding up to its data. Uses all fields but
  /// data_offset.
  Record local_header(const ArchiveEntry& entry) const;
  Record directory_header(const ArchiveEntry& entry) const;
  /// What follows the directory: the end record, after its zip64 forms if they are needed.
  /// `comment_size`: bytes of the comment that follows.
  Record end(std::uint64_t entries, std::uint64_t directory_offset, std::uint64_t directory_size,
             std::uint64_t comment_size) const;

 private:
  bool is_large(std::uint64_t value) const noexcept { return value >= zip64_from_; }

  std::uint64_t zip64_from_;
};

/// The kinds of records, for difference_of().
enum class RecordKind { local_header, directory_header, end_record };

/// The first field in which a record differs from the expected one, as a text such as `its field
/// "external attributes" is 0x1, but must be 0x81a40000`; empty if they are equal. Thread-safe.
std::string difference_of(std::span<const std::byte> found, std::span<const std::byte> expected,
                          RecordKind kind);

}  // namespace vcap
