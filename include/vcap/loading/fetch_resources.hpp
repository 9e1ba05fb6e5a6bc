// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/capsule/resource.hpp"
#include "vcap/loading/load_capsule.hpp"

namespace vcap {

/// A resource and the path of its checked file. Thread safety: value.
struct FetchedResource {
  Resource resource;
  std::string path;
};

/// Fetches a capsule's resources into the cache, as load_capsule does, but runs none of its code.
/// For installers, and for machines that will be offline. Throws as read_manifest does, and
/// ResourceError. Thread-safe.
VCAP_EXPORT std::vector<FetchedResource> fetch_resources(const std::string& capsule,
                                                         const LoadOptions& options = {});

}  // namespace vcap
