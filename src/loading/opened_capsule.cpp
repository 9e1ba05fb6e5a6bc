// SPDX-License-Identifier: Apache-2.0
#include "loading/opened_capsule.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "loading/capsule_layout.hpp"
#include "loading/load_stage.hpp"
#include "loading/manifest_reader.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

OpenedCapsule::OpenedCapsule(std::shared_ptr<const MappedFile> memory, const std::string& name,
                             const ArchiveLimits& limits)
    : OpenedCapsule(std::make_shared<const ByteReader>(std::move(memory), name), name, limits) {}

OpenedCapsule::OpenedCapsule(std::shared_ptr<const ByteReader> file, std::string name,
                             const ArchiveLimits& limits)
    : name_(std::move(name)),
      archive_(
          at_stage(LoadStage::archive, [&] { return Archive(std::move(file), limits, name_); })) {
  at_stage(LoadStage::manifest, [&] { read_manifest(limits); });
}

void OpenedCapsule::read_manifest(const ArchiveLimits& limits) {
  const ArchiveEntry* const entry = archive_.find(kManifestName);
  if (entry == nullptr)
    throw InvalidCapsuleError(ErrorCode::no_manifest,
                              name_ +
                                  " has no capsule.json, so it is some other zip archive; create "
                                  "capsules with `vcap pack`");
  if (entry->size > limits.manifest_bytes)
    throw InvalidCapsuleError(ErrorCode::limit_exceeded,
                              name_ + " has a capsule.json of " + std::to_string(entry->size) +
                                  " bytes; " + std::to_string(limits.manifest_bytes) +
                                  " are allowed (ArchiveLimits::manifest_bytes)",
                              std::string(kManifestName));
  manifest_text_ = archive_.read(*entry);
  manifest_ = read_manifest_text(manifest_text_, name_);
}

void OpenedCapsule::verify() const {
  at_stage(LoadStage::digests, [&] { check_files(); });
}

void OpenedCapsule::check_files() const {
  const auto& files = manifest_.files;  // sorted by path
  for (const ArchiveEntry& entry : archive_.entries()) {
    const auto place = std::ranges::lower_bound(files, entry.name, {}, &Manifest::File::path);
    const bool is_listed = place != files.end() && place->path == entry.name;
    if (!is_listed && entry.name != kManifestName)
      throw InvalidCapsuleError(ErrorCode::unlisted_entry,
                                name_ + " has the entry " + quote(entry.name) +
                                    ", which capsule.json does not list; create it again with "
                                    "`vcap pack`",
                                entry.name);
  }
  for (const Manifest::File& file : files) {
    // Sizes first, so that nothing is read that cannot match.
    const ArchiveEntry& entry = find(file.path);
    if (entry.size != file.size)
      differs(file, std::to_string(entry.size) + " bytes", std::to_string(file.size));
  }
  check_order();
  for (const Manifest::File& file : files) {
    const ArchiveEntry& entry = find(file.path);
    const Fingerprint found = archive_.fingerprint_of(entry);
    if (found.sha256 != file.sha256) differs(file, "SHA-256 " + found.sha256, file.sha256);
    archive_.check_checksum(entry, found.crc32);
  }
}

/// The manifest, and then the files in its order, which is that of their names.
void OpenedCapsule::check_order() const {
  const auto& entries = archive_.entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string_view expected =
        i == 0 ? kManifestName : std::string_view(manifest_.files[i - 1].path);
    if (entries[i].name != expected)
      throw InvalidCapsuleError(ErrorCode::ambiguous_archive,
                                name_ + " is a zip archive that vcap has not written: its entry " +
                                    std::to_string(i) + " is " + quote(entries[i].name) +
                                    ", but must be " + quote(expected) +
                                    "; zip programs write other forms, so create it again with "
                                    "`vcap pack`",
                                entries[i].name);
  }
}

void OpenedCapsule::differs(const Manifest::File& file, const std::string& found,
                            const std::string& expected) const {
  throw InvalidCapsuleError(ErrorCode::digest_mismatch,
                            name_ + ": entry " + quote(file.path) + " has " + found +
                                ", but capsule.json says " + expected +
                                "; the file is damaged or was changed, get it again",
                            file.path);
}

const ArchiveEntry& OpenedCapsule::find(const std::string& path) const {
  const ArchiveEntry* const entry = archive_.find(path);
  if (entry == nullptr)
    throw InvalidCapsuleError(ErrorCode::missing_entry,
                              name_ + " has no entry " + quote(path) +
                                  ", which capsule.json lists; create it again with `vcap pack`",
                              path);
  return *entry;
}

void OpenedCapsule::for_each_block(const std::string& path, const TakeBlock& take) const {
  archive_.for_each_block(find(path), take);
}

CapsuleFiles OpenedCapsule::files() const {
  std::map<std::string, CapsuleFiles::Bytes, std::less<>> views;
  for (const Manifest::File& file : manifest_.files)
    if (!is_below_library_folder(file.path))
      views.emplace(file.path, archive_.content(find(file.path)));
  return {std::move(views), archive_.storage()};
}

}  // namespace vcap
