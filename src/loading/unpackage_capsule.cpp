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
  OpenedCapsule opened = open_capsule(path, options);
  opened.verify();
  StagedFolder output(folder);
  output.write(kManifestName, opened.manifest_text());
  for (const Manifest::File& file : opened.manifest().files)
    output.write(file.path, opened.content(file.path));
  output.commit();
}

}  // namespace vcap
