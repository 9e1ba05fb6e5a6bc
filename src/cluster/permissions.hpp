// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// What a login of a site is for.
enum class ClusterRole {
  worker,  ///< works on jobs
  client,  ///< submits, collects and ends jobs
  reader,  ///< sees what is going on, and changes nothing
};

VCAP_EXPORT std::string_view to_string(ClusterRole role) noexcept;

/// The subjects that a login may use, as the servers' configuration has them. Thread safety: value.
struct LoginPermissions {
  std::vector<std::string> publish{};
  std::vector<std::string> subscribe{};
};

/// What a role needs for its work at a site, and no more. `inbox`: the subject under which the
/// login gets answers. Throws InvalidArgument if the site has no valid name.
VCAP_EXPORT LoginPermissions permissions_of(const std::string& site, ClusterRole role,
                                            const std::string& inbox);

}  // namespace vcap
