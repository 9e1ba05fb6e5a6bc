// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <zlib.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

/// Writes zip archives: by default those that vcap accepts, and any kind of broken ones. A test can
/// set a wrong value for every field of every record. The code is simple and slow.
namespace vcap::test {

struct ZipEntry {
  std::string name{};
  std::string packed{};  ///< the bytes in the archive
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  std::uint32_t crc = 0;
  std::uint64_t size = 0;  ///< declared size of the unpacked bytes
  std::uint16_t made_by = 3 << 8 | 20;
  std::uint32_t attributes = static_cast<std::uint32_t>(S_IFREG | 0644) << 16;
  std::string extra{};        ///< in both headers
  std::string local_extra{};  ///< after `extra`, only in the local header
  std::string gap{};          ///< bytes before the local header that are part of no record
  bool is_padded = true;      ///< whether its data begins at a multiple of 4096
  std::optional<std::string> local_name{};
  std::optional<std::uint16_t> local_method{};
  std::optional<std::uint32_t> local_crc{};
  std::uint16_t local_version = 20, local_date = 33;
  std::optional<std::uint32_t> offset{};       ///< in the directory
  std::optional<std::uint32_t> packed_size{};  ///< in both headers, instead of the right one
};

/// A copy of the entry after `change(entry)`.
inline ZipEntry with(ZipEntry entry, auto change) {
  change(entry);
  return entry;
}

struct ZipEnd {
  std::string comment{};
  std::string prefix{};  ///< before everything; no record counts it
  std::string before_directory{};
  std::string before_end{};  ///< between the directory and the end record
  std::string trailing{};    ///< after everything
  std::optional<std::uint16_t> count{};
  std::optional<std::uint32_t> directory_size{};
  std::optional<std::uint32_t> directory_offset{};
  std::uint16_t disk = 0;
};

inline std::string u16(std::uint64_t value) {
  return {static_cast<char>(value & 0xff), static_cast<char>(value >> 8 & 0xff)};
}
inline std::string u32(std::uint64_t value) { return u16(value & 0xffff) + u16(value >> 16); }
inline std::string u64(std::uint64_t value) { return u32(value & 0xffffffff) + u32(value >> 32); }

inline std::uint32_t zip_crc(const std::string& bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

/// The bytes as a raw deflate stream, the form in zip archives.
inline std::string deflated(std::string bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("deflateInit2");
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<unsigned char*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<unsigned char*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int result = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) throw std::runtime_error("deflate");
  return packed;
}

inline ZipEntry stored_entry(std::string name, const std::string& content) {
  return {
      .name = std::move(name), .packed = content, .crc = zip_crc(content), .size = content.size()};
}

inline ZipEntry deflated_entry(std::string name, const std::string& content) {
  return {.name = std::move(name),
          .packed = deflated(content),
          .method = 8,
          .crc = zip_crc(content),
          .size = content.size()};
}

/// The field that fills a local header up to a multiple of 4096, after `used` bytes of the archive.
inline std::string zip_padding(std::uint64_t used) {
  const std::uint64_t zeros = (4096 - (used + 6) % 4096) % 4096;
  return u16(0xd935) + u16(2 + zeros) + u16(4096) + std::string(zeros, '\0');
}

/// `at`: the header's place in the archive.
inline std::string local_header(const ZipEntry& entry, std::uint64_t at) {
  const std::string name = entry.local_name.value_or(entry.name);
  std::string extra = entry.extra;
  if (entry.is_padded) extra += zip_padding(at + 30 + name.size() + extra.size());
  extra += entry.local_extra;
  return "PK\x03\x04" + u16(entry.local_version) + u16(entry.flags) +
         u16(entry.local_method.value_or(entry.method)) + u16(0) + u16(entry.local_date) +
         u32(entry.local_crc.value_or(entry.crc)) +
         u32(entry.packed_size.value_or(static_cast<std::uint32_t>(entry.packed.size()))) +
         u32(entry.size) + u16(name.size()) + u16(extra.size()) + name + extra;
}

inline std::string directory_header(const ZipEntry& entry, std::uint64_t offset) {
  return "PK\x01\x02" + u16(entry.made_by) + u16(20) + u16(entry.flags) + u16(entry.method) +
         u16(0) + u16(33) + u32(entry.crc) +
         u32(entry.packed_size.value_or(static_cast<std::uint32_t>(entry.packed.size()))) +
         u32(entry.size) + u16(entry.name.size()) + u16(entry.extra.size()) + u16(0) + u16(0) +
         u16(0) + u32(entry.attributes) + u32(entry.offset.value_or(offset)) + entry.name +
         entry.extra;
}

inline std::string zip_bytes(const std::vector<ZipEntry>& entries, const ZipEnd& end = {}) {
  std::string bytes;
  std::string directory;
  for (const ZipEntry& entry : entries) {
    bytes += entry.gap;
    directory += directory_header(entry, bytes.size());
    bytes += local_header(entry, bytes.size()) + entry.packed;
  }
  bytes += end.before_directory;
  const std::uint64_t offset = bytes.size();
  const std::uint64_t count = end.count.value_or(static_cast<std::uint16_t>(entries.size()));
  bytes += directory + end.before_end;
  bytes += "PK\x05\x06" + u16(end.disk) + u16(end.disk) + u16(count) + u16(count) +
           u32(end.directory_size.value_or(static_cast<std::uint32_t>(directory.size()))) +
           u32(end.directory_offset.value_or(static_cast<std::uint32_t>(offset))) +
           u16(end.comment.size()) + end.comment;
  return end.prefix + bytes + end.trailing;
}

}  // namespace vcap::test
