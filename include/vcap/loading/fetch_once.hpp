// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "vcap/base/export.hpp"

namespace vcap {

/// For BaseCapsule::fetch_resources(): lets one process of the machine fetch something, and the
/// others use it.
///
/// Gives the path of the folder `<cache>/fetched/<name>`. If it does not exist, calls `fetch` with
/// an empty folder to fill, which gets its name when `fetch` has returned and its files are on the
/// disk; so the folder is complete, or absent. Meanwhile other processes and threads wait, so
/// `fetch` must not ask for the same name. If it throws, nothing of it stays, the exception passes
/// on, and the next call tries again.
/// Files in the folder must not change: give other content another name, with its version. vcap
/// does not count the folder towards ResourceOptions::cache_bytes, and never removes it.
///
/// The cache is that of the host that loads the capsule (LoadOptions::resources), else that of the
/// environment. Throws InvalidArgument unless `name` has letters, digits, '_', '-' and '.', does
/// not begin with '.', and is at most 200 bytes long; ResourceError: resource_offline if the host
/// is offline and the folder does not exist, resource_cache if the cache cannot be written.
/// Thread-safe.
VCAP_EXPORT std::string fetch_once(const std::string& name,
                                   const std::function<void(const std::string& folder)>& fetch);

}  // namespace vcap
