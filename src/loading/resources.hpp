// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "loading/resources/resource_cache.hpp"
#include "vcap/capsule/capsule_files.hpp"
#include "vcap/capsule/resource.hpp"
#include "vcap/loading/resources/resource_options.hpp"

namespace vcap {

/// A resource's name and its checked file.
struct NamedResource {
  std::string name{};
  std::shared_ptr<const HeldResource> file{};
};

/// The file of each resource, from the cache or fetched. A file that several threads request at
/// once is fetched once; a failure goes to all of them. `capsule` appears in messages. Throws
/// ResourceError, whose entry() is the resource's name, and InvalidArgument if the options are
/// wrong. Thread-safe.
std::vector<NamedResource> obtain_resources(const std::vector<Resource>& resources,
                                            const std::string& capsule,
                                            const ResourceOptions& options);

/// The capsule's own files and the resources, by name. Thread-safe.
CapsuleFiles with_resources(const CapsuleFiles& shipped, std::vector<NamedResource> resources);

}  // namespace vcap
