// SPDX-License-Identifier: Apache-2.0
#include "loading/archive/archive_writer.hpp"

#include <string>
#include <utility>

namespace vcap {

ArchiveWriter::ArchiveWriter(Sink sink, std::uint64_t zip64_from)
    : sink_(std::move(sink)), records_(zip64_from) {}

void ArchiveWriter::write(Bytes bytes) {
  sink_(bytes);
  offset_ += bytes.size();
}

void ArchiveWriter::add(std::string_view name, Bytes content, std::uint32_t crc32) {
  const ArchiveEntry& entry = entries_.emplace_back(ArchiveEntry{
      .name = std::string(name), .crc32 = crc32, .size = content.size(), .header_offset = offset_});
  write(records_.local_header(entry));
  write(content);
}

void ArchiveWriter::finish() {
  const std::uint64_t directory_offset = offset_;
  for (const ArchiveEntry& entry : entries_) write(records_.directory_header(entry));
  const std::uint64_t directory_size = offset_ - directory_offset;
  write(records_.end(entries_.size(), directory_offset, directory_size, 0));
}

}  // namespace vcap
