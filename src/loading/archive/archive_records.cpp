// SPDX-License-Identifier: Apache-2.0
#include "loading/archive/archive_records.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace vcap {
namespace {

constexpr std::uint64_t kDataAlignment = 4096;
/// 1 January 1980, the earliest zip date: equal contents give equal bytes.
constexpr std::uint16_t kDosTime = 0;
constexpr std::uint16_t kDosDate = 1u << 5 | 1u;

/// Builds one record, least significant byte first.
class RecordBuilder {
 public:
  RecordBuilder& u16(std::uint64_t value) { return number(value, 2); }
  RecordBuilder& u32(std::uint64_t value) { return number(value, 4); }
  RecordBuilder& u64(std::uint64_t value) { return number(value, 8); }
  RecordBuilder& text(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  RecordBuilder& bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  RecordBuilder& zeros(std::uint64_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }
  std::uint64_t size() const noexcept { return bytes_.size(); }
  const ArchiveRecords::Record& record() const noexcept { return bytes_; }

 private:
  RecordBuilder& number(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i)
      bytes_.push_back(static_cast<std::byte>(value >> (8 * i) & 0xff));
    return *this;
  }
  ArchiveRecords::Record bytes_{};
};

std::uint16_t flags_for(std::string_view name) {
  const bool is_ascii = std::ranges::all_of(name, [](char c) { return (c & 0x80) == 0; });
  return is_ascii ? 0 : zip::kFlagUtf8;
}

struct RecordField {
  std::uint64_t offset;
  std::uint64_t size;
  const char* name;
};
constexpr RecordField kLocalFields[] = {{0, 4, "signature"},
                                        {4, 2, "version needed"},
                                        {6, 2, "flags"},
                                        {8, 2, "method"},
                                        {10, 2, "time"},
                                        {12, 2, "date"},
                                        {14, 4, "checksum"},
                                        {18, 4, "packed size"},
                                        {22, 4, "size"},
                                        {26, 2, "length of the name"},
                                        {28, 2, "length of the extra fields"}};
constexpr RecordField kDirectoryFields[] = {{0, 4, "signature"},
                                            {4, 2, "version made by"},
                                            {6, 2, "version needed"},
                                            {8, 2, "flags"},
                                            {10, 2, "method"},
                                            {12, 2, "time"},
                                            {14, 2, "date"},
                                            {16, 4, "checksum"},
                                            {20, 4, "packed size"},
                                            {24, 4, "size"},
                                            {28, 2, "length of the name"},
                                            {30, 2, "length of the extra fields"},
                                            {32, 2, "length of the comment"},
                                            {34, 2, "disk"},
                                            {36, 2, "internal attributes"},
                                            {38, 4, "external attributes"},
                                            {42, 4, "offset"}};

constexpr RecordField kEndFields[] = {{0, 4, "signature"},
                                      {4, 2, "disk"},
                                      {6, 2, "disk of the directory"},
                                      {8, 2, "entries on this disk"},
                                      {10, 2, "entries"},
                                      {12, 4, "size of the directory"},
                                      {16, 4, "offset of the directory"},
                                      {20, 2, "length of the comment"}};
/// The zip64 end record and its locator, before the end record.
constexpr RecordField kZip64EndFields[] = {{0, 4, "signature"},
                                           {4, 8, "size of the zip64 record"},
                                           {12, 2, "version made by"},
                                           {14, 2, "version needed"},
                                           {16, 4, "disk"},
                                           {20, 4, "disk of the directory"},
                                           {24, 8, "entries on this disk"},
                                           {32, 8, "entries"},
                                           {40, 8, "size of the directory"},
                                           {48, 8, "offset of the directory"},
                                           {56, 4, "signature of the locator"},
                                           {60, 4, "disk of the zip64 record"},
                                           {64, 8, "offset of the zip64 record"},
                                           {72, 4, "disks"}};

/// "0x1f" for the little-endian number in these bytes, at most 8.
std::string field_value(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i)
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[i - 1]);
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  return "0x" + std::string(digits.data(), end);
}

std::string difference_text(const std::string& what, std::span<const std::byte> found,
                            std::span<const std::byte> expected) {
  return what + " is " + field_value(found) + ", but must be " + field_value(expected);
}

std::span<const RecordField> fields_of(RecordKind kind, std::uint64_t size) {
  switch (kind) {
    case RecordKind::local_header:
      return kLocalFields;
    case RecordKind::directory_header:
      return kDirectoryFields;
    case RecordKind::end_record:
      break;
  }
  if (size == zip::kEndRecordSize) return kEndFields;
  return kZip64EndFields;
}

}  // namespace

ArchiveRecords::Record ArchiveRecords::local_header(const ArchiveEntry& entry) const {
  const bool large = is_large(entry.size);
  RecordBuilder extra;
  if (large) extra.u16(zip::kExtraZip64).u16(16).u64(entry.size).u64(entry.size);
  // The padding field has a four-byte header and a two-byte alignment; its zeros follow.
  constexpr std::uint64_t kLeast = 6;
  const std::uint64_t unpadded =
      entry.header_offset + zip::kLocalHeaderSize + entry.name.size() + extra.size() + kLeast;
  const std::uint64_t padding = (kDataAlignment - unpadded % kDataAlignment) % kDataAlignment;
  extra.u16(zip::kExtraAlignment).u16(2 + padding).u16(kDataAlignment).zeros(padding);

  const std::uint64_t size = large ? zip::kIn64 : entry.size;
  RecordBuilder header;
  header.u32(zip::kLocalHeader)
      .u16(large ? zip::kVersionZip64 : zip::kVersionPlain)
      .u16(flags_for(entry.name))
      .u16(zip::kStored)
      .u16(kDosTime)
      .u16(kDosDate)
      .u32(entry.crc32)
      .u32(size)
      .u32(size)
      .u16(entry.name.size())
      .u16(extra.size())
      .text(entry.name)
      .bytes(extra.record());
  return header.record();
}

ArchiveRecords::Record ArchiveRecords::directory_header(const ArchiveEntry& entry) const {
  const bool large_size = is_large(entry.size);
  const bool large_offset = is_large(entry.header_offset);
  RecordBuilder values;
  if (large_size) values.u64(entry.size).u64(entry.size);
  if (large_offset) values.u64(entry.header_offset);
  const bool zip64 = values.size() > 0;

  const std::uint16_t version = zip64 ? zip::kVersionZip64 : zip::kVersionPlain;
  const std::uint64_t size = large_size ? zip::kIn64 : entry.size;
  RecordBuilder header;
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
      .u32(large_offset ? zip::kIn64 : entry.header_offset)
      .text(entry.name);
  if (zip64) header.u16(zip::kExtraZip64).u16(values.size()).bytes(values.record());
  return header.record();
}

ArchiveRecords::Record ArchiveRecords::end(std::uint64_t entries, std::uint64_t directory_offset,
                                           std::uint64_t directory_size,
                                           std::uint64_t comment_size) const {
  const bool large_count = entries >= zip::kIn64Count;
  const bool large_offset = is_large(directory_offset);
  const bool large_size = is_large(directory_size);
  RecordBuilder end;
  if (large_count || large_offset || large_size) {
    end.u32(zip::kZip64EndRecord)
        .u64(zip::kZip64EndRecordRest)
        .u16(zip::kMadeByUnix << 8 | zip::kVersionZip64)
        .u16(zip::kVersionZip64)
        .u32(0)  // this disk
        .u32(0)  // the directory's disk
        .u64(entries)
        .u64(entries)
        .u64(directory_size)
        .u64(directory_offset);
    end.u32(zip::kZip64Locator).u32(0).u64(directory_offset + directory_size).u32(1);
  }
  end.u32(zip::kEndRecord)
      .u16(0)  // this disk
      .u16(0)  // the directory's disk
      .u16(large_count ? zip::kIn64Count : entries)
      .u16(large_count ? zip::kIn64Count : entries)
      .u32(large_size ? zip::kIn64 : directory_size)
      .u32(large_offset ? zip::kIn64 : directory_offset)
      .u16(comment_size);
  return end.record();
}

std::string difference_of(std::span<const std::byte> found, std::span<const std::byte> expected,
                          RecordKind kind) {
  // The two forms of the end have no field at the same place.
  const bool same_form = kind != RecordKind::end_record || found.size() == expected.size();
  for (const RecordField& field : fields_of(kind, expected.size())) {
    if (!same_form) break;
    const std::uint64_t end = field.offset + field.size;
    if (end > found.size() || end > expected.size()) break;
    const auto one = found.subspan(field.offset, field.size);
    const auto other = expected.subspan(field.offset, field.size);
    if (!std::ranges::equal(one, other))
      return difference_text("its field \"" + std::string(field.name) + "\"", one, other);
  }
  if (found.size() != expected.size())
    return "it has " + std::to_string(found.size()) + " bytes, but must have " +
           std::to_string(expected.size());
  const auto place = std::ranges::mismatch(found, expected).in1;
  if (place == found.end()) return {};
  const auto at = static_cast<std::size_t>(place - found.begin());
  return difference_text("its byte " + std::to_string(at), found.subspan(at, 1),
                         expected.subspan(at, 1));
}

}  // namespace vcap
