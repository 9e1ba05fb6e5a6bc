// SPDX-License-Identifier: Apache-2.0
#include "loading/archive/archive_directory.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "files/entry_name.hpp"
#include "loading/archive/archive_end.hpp"
#include "loading/archive/archive_window.hpp"
#include "loading/archive/zip_format.hpp"

namespace vcap {
namespace {

/// The fields of an entry that both its local header and its directory header have.
struct CommonFields {
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t time = 0;
  std::uint32_t crc32 = 0;
  std::uint64_t packed_size = 0;
  std::uint64_t size = 0;
  std::string name{};
  bool operator==(const CommonFields&) const = default;
};

/// An entry as the directory describes it.
struct Listed {
  CommonFields fields{};
  std::uint64_t header_offset = 0;
  std::uint64_t at = 0;   ///< where the directory describes it
  std::uint64_t end = 0;  ///< the end of that header

  ArchiveEntry entry() const {
    return {.name = fields.name,
            .crc32 = fields.crc32,
            .size = fields.size,
            .header_offset = header_offset};
  }
};

/// The extra fields of a header: sizes, and an offset, that did not fit into the header itself.
class ExtraFields {
 public:
  ExtraFields(ArchiveWindow& archive, CommonFields& fields, std::uint64_t* offset)
      : archive_(archive), fields_(fields), offset_(offset) {}

  void read(std::uint64_t at, std::uint64_t size) {
    const std::uint64_t end = at + size;
    bool seen_64 = false;
    while (at != end) {
      if (end - at < 4) cut_short("the extra fields of ");
      const std::uint16_t id = archive_.u16(at);
      const std::uint64_t field_size = archive_.u16(at + 2);
      at += 4;
      if (field_size > end - at) cut_short("the extra fields of ");
      if (id == zip::kExtraUnicodePath)
        archive_.ambiguous("the entry " + quote(fields_.name) + " has a second name", fields_.name);
      if (id == zip::kExtraZip64) {
        if (seen_64) archive_.ambiguous("two zip64 fields of " + quote(fields_.name), fields_.name);
        seen_64 = true;
        read_zip64(at, field_size);
      }
      at += field_size;
    }
    if (!seen_64 && (fields_.size == zip::kIn64 || fields_.packed_size == zip::kIn64 ||
                     (offset_ != nullptr && *offset_ == zip::kIn64)))
      archive_.broken("the zip64 field of " + quote(fields_.name) + " is missing", fields_.name);
  }

 private:
  [[noreturn]] void cut_short(const char* what) const {
    archive_.broken(what + quote(fields_.name) + " are cut short", fields_.name);
  }

  void read_zip64(std::uint64_t at, std::uint64_t size) {
    const std::uint64_t end = at + size;
    const auto replace = [&](std::uint64_t& value) {
      if (value != zip::kIn64) return;
      if (end - at < 8)
        archive_.broken("the zip64 field of " + quote(fields_.name) + " is cut short",
                        fields_.name);
      value = archive_.u64(at);
      at += 8;
    };
    replace(fields_.size);
    replace(fields_.packed_size);
    if (offset_ != nullptr) replace(*offset_);
    if (at != end)
      archive_.broken("the zip64 field of " + quote(fields_.name) + " is too long", fields_.name);
  }

  ArchiveWindow& archive_;
  CommonFields& fields_;
  std::uint64_t* offset_;
};

class DirectoryReader {
 public:
  DirectoryReader(const ByteReader& archive, const ArchiveLimits& limits,
                  const std::string& capsule, std::uint64_t zip64_from)
      : archive_(archive, capsule),
        limits_(limits),
        records_(zip64_from),
        end_(read_archive_end(archive_, zip64_from)) {}

  std::vector<ArchiveEntry> read() {
    check_end();
    // First the whole directory, and then the local headers, so that each is read in one run.
    std::vector<Listed> listed;
    std::uint64_t at = end_.directory_offset;
    for (std::uint64_t i = 0; i < end_.entries; ++i) listed.push_back(read_listed(at));
    if (at != end_.directory_end)
      archive_.ambiguous("its directory does not end where its end record begins");
    check_sizes(listed);
    for (const Listed& one : listed)
      check_form(archive_.take(one.at, one.end - one.at), records_.directory_header(one.entry()),
                 RecordKind::directory_header, "the directory's header of ", one.fields.name);
    std::vector<ArchiveEntry> entries;
    entries.reserve(listed.size());
    for (const Listed& one : listed) entries.push_back(read_entry(one));
    check_layout(entries);
    check_names(entries);
    return entries;
  }

 private:
  void check_end() const {
    if (end_.entries > limits_.entries)
      archive_.fail(ErrorCode::limit_exceeded, "has " + std::to_string(end_.entries) +
                                                   " entries; " + std::to_string(limits_.entries) +
                                                   " are allowed (ArchiveLimits::entries)");
    if (end_.directory_size > limits_.directory_bytes)
      archive_.fail(ErrorCode::limit_exceeded,
                    "has a directory of " + std::to_string(end_.directory_size) + " bytes; " +
                        std::to_string(limits_.directory_bytes) +
                        " are allowed (ArchiveLimits::directory_bytes)");
  }

  CommonFields read_fields(std::uint64_t at, std::uint64_t name_at) {
    CommonFields fields{.flags = archive_.u16(at),
                        .method = archive_.u16(at + 2),
                        .time = archive_.u32(at + 4),
                        .crc32 = archive_.u32(at + 8),
                        .packed_size = archive_.u32(at + 12),
                        .size = archive_.u32(at + 16)};
    const auto name = archive_.take(name_at, archive_.u16(at + 20));
    fields.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
    return fields;
  }

  /// Reads the directory header at `at`, and moves `at` past it.
  Listed read_listed(std::uint64_t& at) {
    if (archive_.u32(at) != zip::kDirectoryHeader)
      archive_.broken("its directory has no entry at " + std::to_string(at));
    Listed listed{.fields = read_fields(at + 8, at + zip::kDirectoryHeaderSize),
                  .header_offset = archive_.u32(at + 42)};
    const std::uint64_t extra_size = archive_.u16(at + 30);
    const std::uint64_t extra_at = at + zip::kDirectoryHeaderSize + listed.fields.name.size();
    const std::uint64_t next = extra_at + extra_size + archive_.u16(at + 32);
    if (next > end_.directory_end)
      archive_.broken("an entry of its directory reaches beyond the directory");
    if (archive_.u16(at + 34) != 0)
      archive_.fail(ErrorCode::unsupported_entry,
                    "is a part of a multi-disk archive; create it again with `vcap pack`");
    ExtraFields(archive_, listed.fields, &listed.header_offset).read(extra_at, extra_size);
    check_kind(archive_.u32(at + 38), listed.fields);
    listed.at = at;
    listed.end = next;
    at = next;
    return listed;
  }

  void check_kind(std::uint32_t attributes, const CommonFields& fields) const {
    if (fields.method != zip::kStored)
      archive_.not_written_by_vcap(ErrorCode::unsupported_entry,
                                   "its entry " + quote(fields.name) + " is packed by method " +
                                       std::to_string(fields.method) +
                                       "; only 0 (stored) is allowed",
                                   fields.name);
    if ((fields.flags & ~zip::kFlagUtf8) != 0)
      archive_.refuse(
          ErrorCode::unsupported_entry, fields.name,
          "is encrypted, streamed or patched (flags " + std::to_string(fields.flags) + ")");
    const bool is_ascii = std::ranges::all_of(fields.name, [](char c) { return (c & 0x80) == 0; });
    if (!is_ascii && (fields.flags & zip::kFlagUtf8) == 0)
      archive_.refuse(ErrorCode::unsafe_entry, fields.name, "is not marked as UTF-8");
    const auto mode = static_cast<mode_t>(attributes >> zip::kModeShift);
    const mode_t type = mode & S_IFMT;
    // Not only for entries made on Unix: some readers ignore the field that names the system.
    if (type != 0 && type != S_IFREG)
      archive_.refuse(ErrorCode::unsafe_entry, fields.name,
                      S_ISLNK(type) ? "is a symbolic link" : "is not a regular file");
    if ((mode & (S_ISUID | S_ISGID | S_ISVTX)) != 0)
      archive_.refuse(ErrorCode::unsafe_entry, fields.name,
                      "has a mode with a set-id or sticky bit");
    if ((attributes & zip::kDosFolder) != 0)
      archive_.refuse(ErrorCode::unsafe_entry, fields.name, "is marked as a folder");
    if (fields.packed_size != fields.size)
      archive_.ambiguous(
          "the stored entry " + quote(fields.name) + " has different packed and unpacked sizes",
          fields.name);
  }

  void check_form(ArchiveWindow::Bytes found, const ArchiveRecords::Record& expected,
                  RecordKind kind, const char* what, const std::string& name) const {
    const std::string difference = difference_of(found, expected, kind);
    if (!difference.empty())
      archive_.not_written_by_vcap(ErrorCode::ambiguous_archive,
                                   "in " + std::string(what) + quote(name) + ", " + difference,
                                   name);
  }

  /// Reads the local header of an entry, which must agree with the directory.
  ArchiveEntry read_entry(const Listed& listed) {
    const std::uint64_t at = listed.header_offset;
    const std::string& name = listed.fields.name;
    if (archive_.u32(at) != zip::kLocalHeader)
      archive_.broken("no header of " + quote(name) + " at " + std::to_string(at));
    CommonFields fields = read_fields(at + 6, at + zip::kLocalHeaderSize);
    const std::uint64_t extra_at = at + zip::kLocalHeaderSize + fields.name.size();
    const std::uint64_t extra_size = archive_.u16(at + 28);
    ExtraFields(archive_, fields, nullptr).read(extra_at, extra_size);
    if (fields != listed.fields)
      archive_.ambiguous("the two headers of " + quote(name) + " differ", name);
    ArchiveEntry entry = listed.entry();
    entry.data_offset = extra_at + extra_size;
    if (entry.data_offset > archive_.size() || entry.size > archive_.size() - entry.data_offset)
      archive_.broken("the data of " + quote(name) + ", " + std::to_string(entry.size) +
                          " bytes at " + std::to_string(entry.data_offset) +
                          ", is beyond its end at " + std::to_string(archive_.size()),
                      name);
    check_form(archive_.take(at, entry.data_offset - at), records_.local_header(entry),
               RecordKind::local_header, "the local header of ", name);
    return entry;
  }

  /// Entries lie one after another, in the order of the directory.
  void check_layout(const std::vector<ArchiveEntry>& entries) const {
    std::uint64_t at = 0;
    for (const ArchiveEntry& entry : entries) {
      if (entry.header_offset != at)
        archive_.ambiguous((entry.header_offset < at ? "overlapping bytes, or another order than "
                                                       "in the directory,"
                                                     : "bytes that belong to no entry") +
                               std::string(" before ") + quote(entry.name),
                           entry.name);
      at = entry.data_offset + entry.size;
    }
    if (at != end_.directory_offset)
      archive_.ambiguous("bytes that belong to no entry before its directory");
  }

  void check_names(const std::vector<ArchiveEntry>& entries) const {
    std::vector<std::string_view> names;
    for (const ArchiveEntry& entry : entries) {
      if (const std::string fault = entry_name_fault(entry.name); !fault.empty())
        archive_.refuse(ErrorCode::unsafe_entry, entry.name, fault);
      names.push_back(entry.name);
    }
    if (const std::string fault = entry_names_fault(names); !fault.empty())
      archive_.fail(ErrorCode::unsafe_entry, "has entries that are not allowed: " + fault +
                                                 "; create it again with `vcap pack`");
  }

  void check_sizes(const std::vector<Listed>& entries) const {
    std::uint64_t total = 0;
    for (const Listed& one : entries) {
      const std::uint64_t size = one.fields.size;
      const std::string what =
          "has the entry " + quote(one.fields.name) + " of " + std::to_string(size) + " bytes; ";
      if (size > limits_.file_bytes)
        archive_.fail(
            ErrorCode::limit_exceeded,
            what + std::to_string(limits_.file_bytes) + " are allowed (ArchiveLimits::file_bytes)",
            one.fields.name);
      if (size > limits_.total_bytes - total)
        archive_.fail(ErrorCode::limit_exceeded,
                      what + "all entries together may have " +
                          std::to_string(limits_.total_bytes) + " (ArchiveLimits::total_bytes)",
                      one.fields.name);
      total += size;
    }
  }

  ArchiveWindow archive_;
  const ArchiveLimits& limits_;
  ArchiveRecords records_;
  ArchiveEnd end_;
};

}  // namespace

std::vector<ArchiveEntry> read_directory(const ByteReader& archive, const ArchiveLimits& limits,
                                         const std::string& capsule, std::uint64_t zip64_from) {
  return DirectoryReader(archive, limits, capsule, zip64_from).read();
}

std::vector<ArchiveEntry> read_directory(std::span<const std::byte> archive,
                                         const ArchiveLimits& limits, const std::string& capsule,
                                         std::uint64_t zip64_from) {
  return read_directory(ByteReader(archive, capsule), limits, capsule, zip64_from);
}

}  // namespace vcap
