// SPDX-License-Identifier: Apache-2.0
#include "loading/archive/archive_directory.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text.hpp"
#include "files/entry_name.hpp"
#include "loading/archive/signature_block.hpp"
#include "loading/archive/zip_format.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using Bytes = std::span<const std::byte>;

/// The position of the directory, from the records after it.
struct End {
  std::uint64_t entries = 0;
  std::uint64_t directory_offset = 0;
  std::uint64_t directory_size = 0;
  std::uint64_t directory_end = 0;  ///< where the first end record begins
};

/// The fields of an entry that both its local header and its directory header have.
struct Header {
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t time = 0;
  std::uint32_t crc32 = 0;
  std::uint64_t packed_size = 0;
  std::uint64_t size = 0;
  std::string_view name{};
  bool operator==(const Header&) const = default;
};

class DirectoryReader {
 public:
  DirectoryReader(Bytes archive, const ArchiveLimits& limits, const std::string& capsule)
      : archive_(archive), limits_(limits), capsule_(capsule) {}

  std::vector<ArchiveEntry> read() {
    const End end = read_end();
    if (end.entries > limits_.entries)
      fail(ErrorCode::limit_exceeded, "has " + std::to_string(end.entries) + " entries; " +
                                          std::to_string(limits_.entries) +
                                          " are allowed (ArchiveLimits::entries)");
    if (end.directory_size > limits_.directory_bytes)
      fail(ErrorCode::limit_exceeded, "has a directory of " + std::to_string(end.directory_size) +
                                          " bytes; " + std::to_string(limits_.directory_bytes) +
                                          " are allowed (ArchiveLimits::directory_bytes)");

    std::vector<ArchiveEntry> entries;
    std::uint64_t at = end.directory_offset;
    for (std::uint64_t i = 0; i < end.entries; ++i)
      entries.push_back(read_entry(at, end.directory_end));
    if (at != end.directory_end)
      ambiguous("its directory does not end where its end record begins");
    check_layout(entries, end.directory_offset);
    check_names(entries);
    check_sizes(entries);
    return entries;
  }

 private:
  [[noreturn]] void fail(ErrorCode code, const std::string& fault,
                         std::string_view entry = {}) const {
    throw InvalidCapsuleError(code, capsule_ + " " + fault, std::string(entry));
  }
  [[noreturn]] void broken(const std::string& fault, std::string_view entry = {}) const {
    fail(ErrorCode::not_an_archive,
         "is not a valid zip archive: " + fault + "; create it again with `vcap pack`", entry);
  }
  // Another program could see other files in the archive.
  [[noreturn]] void ambiguous(const std::string& fault, std::string_view entry = {}) const {
    fail(ErrorCode::ambiguous_archive,
         "is a zip archive that can be read in two ways: " + fault +
             "; create it again with `vcap pack`",
         entry);
  }
  [[noreturn]] void refuse(ErrorCode code, std::string_view name, const std::string& fault) const {
    fail(code,
         "has an entry that is not allowed: " + quote(name) + " " + fault +
             "; create it again with `vcap pack`",
         name);
  }

  Bytes take(std::uint64_t at, std::uint64_t count) const {
    if (at > archive_.size() || count > archive_.size() - at)
      broken("a record of " + std::to_string(count) + " bytes at " + std::to_string(at) +
             " is beyond its end at " + std::to_string(archive_.size()));
    return archive_.subspan(at, count);
  }
  std::uint64_t number(std::uint64_t at, std::uint64_t count) const {
    std::uint64_t value = 0;
    const Bytes bytes = take(at, count);
    for (std::size_t i = bytes.size(); i > 0; --i)
      value = value << 8 | std::to_integer<std::uint64_t>(bytes[i - 1]);
    return value;
  }
  std::uint16_t u16(std::uint64_t at) const { return static_cast<std::uint16_t>(number(at, 2)); }
  std::uint32_t u32(std::uint64_t at) const { return static_cast<std::uint32_t>(number(at, 4)); }
  std::uint64_t u64(std::uint64_t at) const { return number(at, 8); }

  /// The position of the only end record, whose comment must reach to the last byte.
  std::uint64_t find_end() const {
    constexpr std::uint64_t kLongestComment = 0xffff;
    constexpr std::string_view kSignature = "PK\x05\x06";
    std::optional<std::uint64_t> found;
    const std::uint64_t size = archive_.size();
    const std::uint64_t first = size - std::min(size, zip::kEndRecordSize + kLongestComment);
    const Bytes bytes = archive_.subspan(first);
    const std::string_view tail(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    for (std::size_t at = tail.find(kSignature); at != tail.npos;
         at = tail.find(kSignature, at + 1)) {
      const std::uint64_t record = first + at;
      if (size - record < zip::kEndRecordSize) break;
      if (u16(record + 20) != size - record - zip::kEndRecordSize) continue;
      if (found) ambiguous("it has more than one end record");
      found = record;
    }
    if (!found)
      fail(ErrorCode::not_an_archive,
           size == 0 ? "is empty; create capsules with `vcap pack`"
                     : "is not a zip archive, or is cut short: no end record in its last bytes; "
                       "create capsules with `vcap pack`");
    return *found;
  }

  End read_end() const {
    const std::uint64_t at = find_end();
    const Bytes comment = archive_.subspan(at + zip::kEndRecordSize);
    if (!comment.empty() && !read_signature_block(comment))
      ambiguous("its comment is not a signature block");
    if (u16(at + 4) != 0 || u16(at + 6) != 0)
      fail(ErrorCode::unsupported_entry,
           "is a part of a multi-disk archive; create it again with `vcap pack`");
    End end{.entries = u16(at + 10),
            .directory_offset = u32(at + 16),
            .directory_size = u32(at + 12),
            .directory_end = at};
    if (u16(at + 8) != end.entries) ambiguous("its end record has two counts of entries");

    const bool in_64 = end.entries == zip::kIn64Count || end.directory_offset == zip::kIn64 ||
                       end.directory_size == zip::kIn64;
    const bool has_locator =
        at >= zip::kZip64LocatorSize && u32(at - zip::kZip64LocatorSize) == zip::kZip64Locator;
    // Only some readers would follow this locator.
    if (in_64 != has_locator) ambiguous("its end record and its zip64 locator disagree");
    if (in_64) end = read_zip64_end(end);
    if (end.directory_offset > end.directory_end ||
        end.directory_end - end.directory_offset != end.directory_size)
      ambiguous("its directory does not end where its end record begins");
    return end;
  }

  End read_zip64_end(const End& plain) const {
    const std::uint64_t locator = plain.directory_end - zip::kZip64LocatorSize;
    if (locator < zip::kZip64EndRecordSize) broken("its zip64 end record is missing");
    const std::uint64_t at = locator - zip::kZip64EndRecordSize;
    if (u32(locator + 4) != 0 || u32(locator + 16) != 1)
      fail(ErrorCode::unsupported_entry,
           "is a part of a multi-disk archive; create it again with `vcap pack`");
    if (u64(locator + 8) != at || u32(at) != zip::kZip64EndRecord ||
        u64(at + 4) != zip::kZip64EndRecordRest)
      ambiguous("its zip64 end record is not where its locator says");
    if (u32(at + 16) != 0 || u32(at + 20) != 0)
      fail(ErrorCode::unsupported_entry,
           "is a part of a multi-disk archive; create it again with `vcap pack`");

    const End end{.entries = u64(at + 32),
                  .directory_offset = u64(at + 48),
                  .directory_size = u64(at + 40),
                  .directory_end = at};
    const auto agrees = [](std::uint64_t small, std::uint64_t in_64, std::uint64_t large) {
      return small == in_64 || small == large;
    };
    if (u64(at + 24) != end.entries || !agrees(plain.entries, zip::kIn64Count, end.entries) ||
        !agrees(plain.directory_offset, zip::kIn64, end.directory_offset) ||
        !agrees(plain.directory_size, zip::kIn64, end.directory_size))
      ambiguous("its end record and its zip64 end record disagree");
    return end;
  }

  /// Reads the sizes, and `offset` if given, that did not fit into the header itself.
  void read_extra(std::uint64_t at, std::uint64_t size, Header& header,
                  std::uint64_t* offset) const {
    const std::uint64_t end = at + size;
    bool seen_64 = false;
    while (at != end) {
      if (end - at < 4)
        broken("the extra fields of " + quote(header.name) + " are cut short", header.name);
      const std::uint16_t id = u16(at);
      const std::uint64_t field_size = u16(at + 2);
      at += 4;
      if (field_size > end - at)
        broken("the extra fields of " + quote(header.name) + " are cut short", header.name);
      if (id == zip::kExtraUnicodePath)
        ambiguous("the entry " + quote(header.name) + " has a second name", header.name);
      if (id == zip::kExtraZip64) {
        if (seen_64) ambiguous("two zip64 fields of " + quote(header.name), header.name);
        seen_64 = true;
        read_zip64_extra(at, field_size, header, offset);
      }
      at += field_size;
    }
    if (!seen_64 && (header.size == zip::kIn64 || header.packed_size == zip::kIn64 ||
                     (offset != nullptr && *offset == zip::kIn64)))
      broken("the zip64 field of " + quote(header.name) + " is missing", header.name);
  }

  void read_zip64_extra(std::uint64_t at, std::uint64_t size, Header& header,
                        std::uint64_t* offset) const {
    const std::uint64_t end = at + size;
    const auto replace = [&](std::uint64_t& value) {
      if (value != zip::kIn64) return;
      if (end - at < 8)
        broken("the zip64 field of " + quote(header.name) + " is cut short", header.name);
      value = u64(at);
      at += 8;
    };
    replace(header.size);
    replace(header.packed_size);
    if (offset != nullptr) replace(*offset);
    if (at != end) broken("the zip64 field of " + quote(header.name) + " is too long", header.name);
  }

  Header read_header(std::uint64_t at, std::uint64_t name_at) const {
    const Bytes name = take(name_at, u16(at + 20));
    return {.flags = u16(at),
            .method = u16(at + 2),
            .time = u32(at + 4),
            .crc32 = u32(at + 8),
            .packed_size = u32(at + 12),
            .size = u32(at + 16),
            .name = {reinterpret_cast<const char*>(name.data()), name.size()}};
  }

  /// Reads the directory header at `at` and its local header; moves `at` past the directory header.
  ArchiveEntry read_entry(std::uint64_t& at, std::uint64_t directory_end) const {
    if (u32(at) != zip::kDirectoryHeader)
      broken("its directory has no entry at " + std::to_string(at));
    Header header = read_header(at + 8, at + zip::kDirectoryHeaderSize);
    const std::uint64_t extra_size = u16(at + 30);
    const std::uint64_t comment_size = u16(at + 32);
    const std::uint64_t extra_at = at + zip::kDirectoryHeaderSize + header.name.size();
    const std::uint64_t next = extra_at + extra_size + comment_size;
    if (next > directory_end) broken("an entry of its directory reaches beyond the directory");
    if (u16(at + 34) != 0)
      fail(ErrorCode::unsupported_entry,
           "is a part of a multi-disk archive; create it again with `vcap pack`");

    const std::uint16_t version = u16(at + 6);
    std::uint64_t offset = u32(at + 42);
    read_extra(extra_at, extra_size, header, &offset);
    check_kind(at, header);
    at = next;
    return {.name = std::string(header.name),
            .deflated = header.method == zip::kDeflated,
            .crc32 = header.crc32,
            .packed_size = header.packed_size,
            .size = header.size,
            .header_offset = offset,
            .data_offset = find_data(offset, header, version)};
  }

  void check_kind(std::uint64_t at, const Header& header) const {
    if (header.method != zip::kStored && header.method != zip::kDeflated)
      refuse(ErrorCode::unsupported_entry, header.name,
             "is packed by method " + std::to_string(header.method) +
                 "; 0 (stored) and 8 (deflated) are allowed");
    if ((header.flags & ~zip::kHarmlessFlags) != 0)
      refuse(ErrorCode::unsupported_entry, header.name,
             "is encrypted, streamed or patched (flags " + std::to_string(header.flags) + ")");
    const bool is_ascii =
        std::all_of(header.name.begin(), header.name.end(), [](char c) { return (c & 0x80) == 0; });
    if (!is_ascii && (header.flags & zip::kFlagUtf8) == 0)
      refuse(ErrorCode::unsafe_entry, header.name, "is not marked as UTF-8");
    const std::uint32_t attributes = u32(at + 38);
    const auto mode = static_cast<mode_t>(attributes >> zip::kModeShift);
    const mode_t type = mode & S_IFMT;
    // Not only for entries made on Unix: some readers ignore the field that names the system.
    if (type != 0 && type != S_IFREG)
      refuse(ErrorCode::unsafe_entry, header.name,
             S_ISLNK(type) ? "is a symbolic link" : "is not a regular file");
    if ((mode & (S_ISUID | S_ISGID | S_ISVTX)) != 0)
      refuse(ErrorCode::unsafe_entry, header.name, "has a mode with a set-id or sticky bit");
    if ((attributes & zip::kDosFolder) != 0)
      refuse(ErrorCode::unsafe_entry, header.name, "is marked as a folder");
    if (header.method == zip::kStored && header.packed_size != header.size)
      ambiguous(
          "the stored entry " + quote(header.name) + " has different packed and unpacked sizes",
          header.name);
  }

  /// The position of the data, after checking that the local header agrees with the directory.
  std::uint64_t find_data(std::uint64_t at, const Header& expected,
                          std::uint16_t expected_version) const {
    if (u32(at) != zip::kLocalHeader)
      broken("no header of " + quote(expected.name) + " at " + std::to_string(at));
    Header header = read_header(at + 6, at + zip::kLocalHeaderSize);
    const std::uint64_t extra_at = at + zip::kLocalHeaderSize + header.name.size();
    const std::uint64_t extra_size = u16(at + 28);
    read_extra(extra_at, extra_size, header, nullptr);
    // The directory's header may need a newer version, for an offset beyond 4 GiB.
    const bool is_newer = u16(at + 4) > expected_version;
    if (header != expected || is_newer)
      ambiguous("the two headers of " + quote(expected.name) + " differ", expected.name);
    const std::uint64_t data_at = extra_at + extra_size;
    static_cast<void>(take(data_at, expected.packed_size));
    return data_at;
  }

  void check_layout(const std::vector<ArchiveEntry>& entries, std::uint64_t directory) const {
    std::vector<const ArchiveEntry*> order;
    order.reserve(entries.size());
    for (const ArchiveEntry& entry : entries) order.push_back(&entry);
    std::sort(order.begin(), order.end(), [](const ArchiveEntry* a, const ArchiveEntry* b) {
      return a->header_offset < b->header_offset;
    });
    std::uint64_t at = 0;
    for (const ArchiveEntry* entry : order) {
      if (entry->header_offset != at)
        ambiguous(
            (entry->header_offset < at ? "overlapping bytes" : "bytes that belong to no entry") +
                std::string(" before ") + quote(entry->name),
            entry->name);
      at = entry->data_offset + entry->packed_size;
    }
    if (at != directory) ambiguous("bytes that belong to no entry before its directory");
  }

  void check_names(const std::vector<ArchiveEntry>& entries) const {
    std::vector<std::string_view> names;
    for (const ArchiveEntry& entry : entries) {
      if (const std::string fault = entry_name_fault(entry.name); !fault.empty())
        refuse(ErrorCode::unsafe_entry, entry.name, fault);
      names.push_back(entry.name);
    }
    if (const std::string fault = entry_names_fault(names); !fault.empty())
      fail(ErrorCode::unsafe_entry,
           "has entries that are not allowed: " + fault + "; create it again with `vcap pack`");
  }

  void check_sizes(const std::vector<ArchiveEntry>& entries) const {
    std::uint64_t total = 0;
    for (const ArchiveEntry& entry : entries) {
      const std::string what =
          "has the entry " + quote(entry.name) + " of " + std::to_string(entry.size) + " bytes; ";
      if (entry.size > limits_.file_bytes)
        fail(ErrorCode::limit_exceeded,
             what + std::to_string(limits_.file_bytes) + " are allowed (ArchiveLimits::file_bytes)",
             entry.name);
      // A division, since the product could overflow.
      if (entry.deflated &&
          entry.size / std::max<std::uint64_t>(entry.packed_size, 1) > limits_.ratio)
        fail(ErrorCode::limit_exceeded,
             what + "its packed size is " + std::to_string(entry.packed_size) +
                 "; a ratio of up to " + std::to_string(limits_.ratio) +
                 " to 1 is allowed (ArchiveLimits::ratio)",
             entry.name);
      if (entry.size > limits_.total_bytes - total)
        fail(ErrorCode::limit_exceeded,
             what + "all entries together may have " + std::to_string(limits_.total_bytes) +
                 " (ArchiveLimits::total_bytes)",
             entry.name);
      total += entry.size;
    }
  }

  Bytes archive_;
  const ArchiveLimits& limits_;
  const std::string& capsule_;
};

}  // namespace

std::vector<ArchiveEntry> read_directory(Bytes archive, const ArchiveLimits& limits,
                                         const std::string& capsule) {
  return DirectoryReader(archive, limits, capsule).read();
}

}  // namespace vcap
