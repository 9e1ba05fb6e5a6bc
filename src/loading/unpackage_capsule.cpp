// SPDX-License-Identifier: Apache-2.0
#include "files/staged_folder.hpp"
#include "loading/capsule_layout.hpp"
#include "loading/open_capsule.hpp"
#include "vcap/loading/package_capsule.hpp"

namespace vcap {

void unpackage_capsule(const std::string& path, const std::string& folder,
                       const ArchiveLimits& limits) {
  unpackage_capsule(path, folder, options_with(limits));
}

void unpackage_capsule(const std::string& path, const std::string& folder,
                       const LoadOptions& options) {
  const OpenedCapsule opened = open_capsule(path, options);
  opened.verify();
  StagedFolder output(folder);
  output.write(kManifestName, opened.manifest_text());
  for (const Manifest::File& file : opened.manifest().files)
    output.write_blocks(
        file.path, [&](const StagedFolder::Take& take) { opened.for_each_block(file.path, take); });
  output.commit();
}

}  // namespace vcap
