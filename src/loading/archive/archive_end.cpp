// SPDX-License-Identifier: Apache-2.0
#include "loading/archive/archive_end.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "loading/archive/archive_records.hpp"
#include "loading/archive/signature_block.hpp"
#include "loading/archive/zip_format.hpp"

namespace vcap {
namespace {

class EndReader {
 public:
  explicit EndReader(ArchiveWindow& archive) : archive_(archive) {}

  ArchiveEnd read(std::uint64_t zip64_from) {
    const std::uint64_t at = find_end();
    ArchiveEnd end = read_plain_end(at);
    const bool in_64 = end.entries == zip::kIn64Count || end.directory_offset == zip::kIn64 ||
                       end.directory_size == zip::kIn64;
    const bool has_locator = at >= zip::kZip64LocatorSize &&
                             archive_.u32(at - zip::kZip64LocatorSize) == zip::kZip64Locator;
    // Only some readers would follow this locator.
    if (in_64 != has_locator) archive_.ambiguous("its end record and its zip64 locator disagree");
    if (in_64) end = read_zip64_end(end);
    if (end.directory_offset > end.directory_end ||
        end.directory_end - end.directory_offset != end.directory_size)
      archive_.ambiguous("its directory does not end where its end record begins");
    check_form(end, at, zip64_from);
    return end;
  }

 private:
  /// The position of the only end record, whose comment must reach to the last byte.
  std::uint64_t find_end() {
    constexpr std::uint64_t kLongestComment = 0xffff;
    constexpr std::string_view kSignature = "PK\x05\x06";
    const std::uint64_t size = archive_.size();
    const std::uint64_t first = size - std::min(size, zip::kEndRecordSize + kLongestComment);
    const ArchiveWindow::Bytes bytes = archive_.take(first, size - first);
    const std::string_view tail(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    std::optional<std::uint64_t> found;
    for (std::size_t at = tail.find(kSignature); at != tail.npos;
         at = tail.find(kSignature, at + 1)) {
      if (tail.size() - at < zip::kEndRecordSize) break;
      const auto comment = static_cast<std::uint64_t>(static_cast<unsigned char>(tail[at + 20])) |
                           static_cast<std::uint64_t>(static_cast<unsigned char>(tail[at + 21]))
                               << 8;
      if (comment != tail.size() - at - zip::kEndRecordSize) continue;
      if (found) archive_.ambiguous("it has more than one end record");
      found = first + at;
    }
    if (!found)
      archive_.fail(ErrorCode::not_an_archive,
                    size == 0
                        ? "is empty; create capsules with `vcap pack`"
                        : "is not a zip archive, or is cut short: no end record in its last bytes; "
                          "create capsules with `vcap pack`");
    return *found;
  }

  [[noreturn]] void fail_disks() const {
    archive_.fail(ErrorCode::unsupported_entry,
                  "is a part of a multi-disk archive; create it again with `vcap pack`");
  }

  ArchiveEnd read_plain_end(std::uint64_t at) {
    const std::uint64_t comment_at = at + zip::kEndRecordSize;
    comment_size_ = archive_.size() - comment_at;
    if (comment_size_ > 0 && !read_signature_block(archive_.take(comment_at, comment_size_)))
      archive_.ambiguous("its comment is not a signature block");
    if (archive_.u16(at + 4) != 0 || archive_.u16(at + 6) != 0) fail_disks();
    const ArchiveEnd end{.entries = archive_.u16(at + 10),
                         .directory_offset = archive_.u32(at + 16),
                         .directory_size = archive_.u32(at + 12),
                         .directory_end = at};
    if (archive_.u16(at + 8) != end.entries)
      archive_.ambiguous("its end record has two counts of entries");
    return end;
  }

  ArchiveEnd read_zip64_end(const ArchiveEnd& plain) {
    const std::uint64_t locator = plain.directory_end - zip::kZip64LocatorSize;
    if (locator < zip::kZip64EndRecordSize) archive_.broken("its zip64 end record is missing");
    const std::uint64_t at = locator - zip::kZip64EndRecordSize;
    if (archive_.u32(locator + 4) != 0 || archive_.u32(locator + 16) != 1) fail_disks();
    if (archive_.u64(locator + 8) != at || archive_.u32(at) != zip::kZip64EndRecord ||
        archive_.u64(at + 4) != zip::kZip64EndRecordRest)
      archive_.ambiguous("its zip64 end record is not where its locator says");
    if (archive_.u32(at + 16) != 0 || archive_.u32(at + 20) != 0) fail_disks();

    const ArchiveEnd end{.entries = archive_.u64(at + 32),
                         .directory_offset = archive_.u64(at + 48),
                         .directory_size = archive_.u64(at + 40),
                         .directory_end = at};
    const auto agrees = [](std::uint64_t small, std::uint64_t in_64, std::uint64_t large) {
      return small == in_64 || small == large;
    };
    if (archive_.u64(at + 24) != end.entries ||
        !agrees(plain.entries, zip::kIn64Count, end.entries) ||
        !agrees(plain.directory_offset, zip::kIn64, end.directory_offset) ||
        !agrees(plain.directory_size, zip::kIn64, end.directory_size))
      archive_.ambiguous("its end record and its zip64 end record disagree");
    return end;
  }

  void check_form(const ArchiveEnd& end, std::uint64_t at, std::uint64_t zip64_from) {
    const auto expected =
        ArchiveRecords(zip64_from)
            .end(end.entries, end.directory_offset, end.directory_size, comment_size_);
    const auto found =
        archive_.take(end.directory_end, at + zip::kEndRecordSize - end.directory_end);
    const std::string difference = difference_of(found, expected, RecordKind::end_record);
    if (!difference.empty())
      archive_.not_written_by_vcap(ErrorCode::ambiguous_archive,
                                   "in its end record, " + difference);
  }

  ArchiveWindow& archive_;
  std::uint64_t comment_size_ = 0;
};

}  // namespace

ArchiveEnd read_archive_end(ArchiveWindow& archive, std::uint64_t zip64_from) {
  return EndReader(archive).read(zip64_from);
}

}  // namespace vcap
