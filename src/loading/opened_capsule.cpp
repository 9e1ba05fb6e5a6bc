// SPDX-License-Identifier: Apache-2.0
#include "loading/opened_capsule.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "files/digest.hpp"
#include "loading/capsule_layout.hpp"
#include "loading/load_stage.hpp"
#include "loading/manifest_reader.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

OpenedCapsule::OpenedCapsule(std::shared_ptr<const MappedFile> file, std::string name,
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
  manifest_text_ = archive_.checked_content(*entry);
  manifest_ = read_manifest_text(manifest_text_, name_);
}

void OpenedCapsule::verify() {
  at_stage(LoadStage::digests, [&] { check_files(); });
}

void OpenedCapsule::check_files() {
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
    // Sizes first, so that nothing is unpacked that cannot match.
    const ArchiveEntry& entry = find(file.path);
    if (entry.size != file.size)
      differs(file, std::to_string(entry.size) + " bytes", std::to_string(file.size));
    const std::string digest = sha256(archive_.content(entry));
    if (digest != file.sha256) differs(file, "SHA-256 " + digest, file.sha256);
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

Archive::Bytes OpenedCapsule::content(const std::string& path) {
  return archive_.content(find(path));
}

CapsuleFiles OpenedCapsule::files() {
  std::map<std::string, CapsuleFiles::Bytes, std::less<>> views;
  for (const Manifest::File& file : manifest_.files)
    if (!is_below_library_folder(file.path)) views.emplace(file.path, content(file.path));
  return {std::move(views), archive_.storage()};
}

}  // namespace vcap
