// SPDX-License-Identifier: Apache-2.0
#include "loading/archive/archive_writer.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "loading/archive/zip_format.hpp"

namespace vcap {
namespace {

constexpr std::uint64_t kAlignment = 4096;
/// 1 January 1980, the earliest zip date: equal contents give equal bytes.
constexpr std::uint16_t kDosTime = 0;
constexpr std::uint16_t kDosDate = 1u << 5 | 1u;

/// Bytes of one record, least significant byte first.
class Record {
 public:
  Record& u16(std::uint64_t value) { return number(value, 2); }
  Record& u32(std::uint64_t value) { return number(value, 4); }
  Record& u64(std::uint64_t value) { return number(value, 8); }
  Record& text(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  Record& zeros(std::uint64_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  std::uint64_t size() const noexcept { return bytes_.size(); }

 private:
  Record& number(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i)
      bytes_.push_back(static_cast<std::byte>(value >> (8 * i) & 0xff));
    return *this;
  }
  std::vector<std::byte> bytes_;
};

std::uint16_t flags_for(std::string_view name) {
  const bool is_ascii = std::ranges::all_of(name, [](char c) { return (c & 0x80) == 0; });
  return is_ascii ? 0 : zip::kFlagUtf8;
}

}  // namespace

ArchiveWriter::ArchiveWriter(Sink sink, std::uint64_t zip64_from)
    : sink_(std::move(sink)), zip64_from_(zip64_from) {}

void ArchiveWriter::write(Bytes bytes) {
  sink_(bytes);
  offset_ += bytes.size();
}

void ArchiveWriter::add(std::string_view name, Bytes content, std::uint32_t crc32) {
  const Entry& entry = entries_.emplace_back(
      Entry{.name = std::string(name), .crc32 = crc32, .size = content.size(), .offset = offset_});
  const bool large = is_large(entry.size);
  Record extra;
  if (large) extra.u16(zip::kExtraZip64).u16(16).u64(entry.size).u64(entry.size);
  // The padding field has a four-byte header and a two-byte alignment; its zeros follow.
  constexpr std::uint64_t kLeast = 6;
  const std::uint64_t unpadded =
      offset_ + zip::kLocalHeaderSize + entry.name.size() + extra.size() + kLeast;
  const std::uint64_t padding = (kAlignment - unpadded % kAlignment) % kAlignment;
  extra.u16(zip::kExtraAlignment).u16(2 + padding).u16(kAlignment).zeros(padding);

  const std::uint64_t size = large ? zip::kIn64 : entry.size;
  Record header;
  header.u32(zip::kLocalHeader)
      .u16(large ? zip::kVersionZip64 : zip::kVersionPlain)
      .u16(flags_for(name))
      .u16(zip::kStored)
      .u16(kDosTime)
      .u16(kDosDate)
      .u32(crc32)
      .u32(size)
      .u32(size)
      .u16(name.size())
      .u16(extra.size())
      .text(name);
  write(header.bytes());
  write(extra.bytes());
  write(content);
}

void ArchiveWriter::write_directory_header(const Entry& entry) {
  const bool large_size = is_large(entry.size);
  const bool large_offset = is_large(entry.offset);
  Record values;
  if (large_size) values.u64(entry.size).u64(entry.size);
  if (large_offset) values.u64(entry.offset);
  const bool zip64 = values.size() > 0;

  const std::uint16_t version = zip64 ? zip::kVersionZip64 : zip::kVersionPlain;
  const std::uint64_t size = large_size ? zip::kIn64 : entry.size;
  Record header;
  header.u32(zip::kDirectoryHeader)
      .u16(zip::kMadeByUnix << 8 | version)
      .u16(version)
      .u16(flags_for(entry.name))
      .u16(zip::kStored)
      .u16(kDosTime)
      .u16(kDosDate)
      .u32(entry.crc32)
      .u32(size)
      .u32(size)
      .u16(entry.name.size())
      .u16(zip64 ? 4 + values.size() : 0)
      .u16(0)  // comment
      .u16(0)  // disk
      .u16(0)  // internal attributes
      .u32(std::uint64_t{S_IFREG | 0644} << zip::kModeShift)
      .u32(large_offset ? zip::kIn64 : entry.offset)
      .text(entry.name);
  if (zip64) header.u16(zip::kExtraZip64).u16(values.size());
  write(header.bytes());
  write(values.bytes());
}

void ArchiveWriter::finish() {
  const std::uint64_t directory_offset = offset_;
  for (const Entry& entry : entries_) write_directory_header(entry);
  write_end(directory_offset, offset_ - directory_offset);
}

void ArchiveWriter::write_end(std::uint64_t directory_offset, std::uint64_t directory_size) {
  const std::uint64_t count = entries_.size();
  const bool large_count = count >= zip::kIn64Count;
  const bool large_offset = is_large(directory_offset);
  const bool large_size = is_large(directory_size);
  Record end;
  if (large_count || large_offset || large_size) {
    end.u32(zip::kZip64EndRecord)
        .u64(zip::kZip64EndRecordRest)
        .u16(zip::kMadeByUnix << 8 | zip::kVersionZip64)
        .u16(zip::kVersionZip64)
        .u32(0)  // this disk
        .u32(0)  // the directory's disk
        .u64(count)
        .u64(count)
        .u64(directory_size)
        .u64(directory_offset);
    end.u32(zip::kZip64Locator).u32(0).u64(offset_).u32(1);
  }
  end.u32(zip::kEndRecord)
      .u16(0)  // this disk
      .u16(0)  // the directory's disk
      .u16(large_count ? zip::kIn64Count : count)
      .u16(large_count ? zip::kIn64Count : count)
      .u32(large_size ? zip::kIn64 : directory_size)
      .u32(large_offset ? zip::kIn64 : directory_offset)
      .u16(0);  // comment
  write(end.bytes());
}

}  // namespace vcap
