// SPDX-License-Identifier: Apache-2.0
#include "loading/archive/archive.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

Archive::Archive(std::shared_ptr<const ByteReader> file, const ArchiveLimits& limits,
                 std::string capsule, std::uint64_t zip64_from)
    : capsule_(std::move(capsule)),
      file_(std::move(file)),
      entries_(read_directory(*file_, limits, capsule_, zip64_from)),
      by_name_(entries_.size()) {
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  std::ranges::sort(by_name_, {},
                    [this](std::size_t i) -> std::string_view { return entries_[i].name; });
}

Archive::Archive(std::shared_ptr<const MappedFile> memory, const ArchiveLimits& limits,
                 const std::string& capsule, std::uint64_t zip64_from)
    : Archive(std::make_shared<const ByteReader>(std::move(memory), capsule), limits, capsule,
              zip64_from) {}

const ArchiveEntry* Archive::find(std::string_view name) const noexcept {
  const auto name_of = [this](std::size_t i) -> std::string_view { return entries_[i].name; };
  const auto place = std::ranges::lower_bound(by_name_, name, {}, name_of);
  return place != by_name_.end() && name_of(*place) == name ? &entries_[*place] : nullptr;
}

void Archive::check_checksum(const ArchiveEntry& entry, std::uint32_t found) const {
  if (found == entry.crc32) return;
  throw InvalidCapsuleError(ErrorCode::damaged_entry,
                            capsule_ + ": its entry " + quote(entry.name) +
                                " does not have the checksum that it declares; the file is "
                                "damaged, get it again",
                            entry.name);
}

void Archive::for_each_block(const ArchiveEntry& entry, const TakeBlock& take) const {
  file_->for_each_block(entry.data_offset, entry.size, take);
}

Fingerprint Archive::fingerprint_of(const ArchiveEntry& entry) const {
  FingerprintStream stream;
  for_each_block(entry, [&stream](Bytes block) { stream.update(block); });
  return stream.finish();
}

std::vector<std::byte> Archive::read(const ArchiveEntry& entry) const {
  std::vector<std::byte> bytes = file_->read(entry.data_offset, entry.size);
  check_checksum(entry, crc32(bytes));
  return bytes;
}

Archive::Bytes Archive::content(const ArchiveEntry& entry) const {
  return file_->bytes().subspan(entry.data_offset, entry.size);
}

Archive::Bytes Archive::checked_content(const ArchiveEntry& entry) const {
  check_checksum(entry, fingerprint_of(entry).crc32);
  return content(entry);
}

}  // namespace vcap
