// SPDX-License-Identifier: Apache-2.0
#include "loading/archive/archive.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/text.hpp"
#include "files/digest.hpp"
#include "loading/archive/inflate.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

struct Archive::Storage {
  std::shared_ptr<const MappedFile> file;
  std::map<std::string, std::unique_ptr<std::byte[]>> unpacked{};  ///< by entry name
};

Archive::Archive(std::shared_ptr<const MappedFile> file, const ArchiveLimits& limits,
                 std::string capsule)
    : capsule_(std::move(capsule)),
      entries_(read_directory(file->bytes(), limits, capsule_)),
      by_name_(entries_.size()),
      storage_(std::make_shared<Storage>(Storage{.file = std::move(file)})) {
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  std::ranges::sort(by_name_, {},
                    [this](std::size_t i) -> std::string_view { return entries_[i].name; });
}

Archive::Archive(Archive&&) noexcept = default;
Archive::~Archive() = default;

void Archive::damaged(const ArchiveEntry& entry, const std::string& fault) const {
  throw InvalidCapsuleError(ErrorCode::damaged_entry,
                            capsule_ + ": its entry " + quote(entry.name) + " " + fault +
                                "; the file is damaged, get it again",
                            entry.name);
}

const ArchiveEntry* Archive::find(std::string_view name) const noexcept {
  const auto name_of = [this](std::size_t i) -> std::string_view { return entries_[i].name; };
  const auto place = std::ranges::lower_bound(by_name_, name, {}, name_of);
  return place != by_name_.end() && name_of(*place) == name ? &entries_[*place] : nullptr;
}

Archive::Bytes Archive::content(const ArchiveEntry& entry) {
  if (!entry.deflated) return storage_->file->bytes().subspan(entry.data_offset, entry.packed_size);
  std::unique_ptr<std::byte[]>& unpacked = storage_->unpacked[entry.name];
  if (unpacked == nullptr) unpacked = unpack(entry);
  return {unpacked.get(), entry.size};
}

Archive::Bytes Archive::checked_content(const ArchiveEntry& entry) {
  const Bytes bytes = content(entry);
  if (crc32(bytes) != entry.crc32) damaged(entry, "does not have the checksum that it declares");
  return bytes;
}

std::unique_ptr<std::byte[]> Archive::unpack(const ArchiveEntry& entry) const {
  const Bytes packed = storage_->file->bytes().subspan(entry.data_offset, entry.packed_size);
  // Not zeroed, so that memory is used only as far as data is really unpacked.
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(entry.size);
  const Inflated inflated = inflate(packed, {bytes.get(), entry.size});
  if (!inflated.fault.empty()) damaged(entry, inflated.fault);
  if (inflated.size != entry.size)
    damaged(entry, "unpacks to " + std::to_string(inflated.size) + " bytes, but declares " +
                       std::to_string(entry.size));
  if (inflated.consumed != packed.size())
    damaged(entry, "has " + std::to_string(packed.size() - inflated.consumed) +
                       " bytes after the end of its data");
  if (crc32({bytes.get(), entry.size}) != entry.crc32)
    damaged(entry, "does not have the checksum that it declares");
  return bytes;
}

std::shared_ptr<const void> Archive::storage() const noexcept { return storage_; }

void Archive::release_pages() const noexcept { storage_->file->release_pages(); }

}  // namespace vcap
