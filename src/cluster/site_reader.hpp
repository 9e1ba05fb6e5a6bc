// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "cluster/site_view.hpp"
#include "vcap/base/clock.hpp"
#include "vcap/cluster/cluster.hpp"

namespace vcap {

/// A site as a client sees it at one time. Thread safety: value.
struct SiteReading {
  SiteView view{};
  /// A worker whose last heartbeat is older than its lease, by the broker's time, is dead now.
  Clock::time_point now{};
  std::map<std::string, std::string> invalid_streams{};  ///< with the reasons
};

/// Throws ClusterError. Thread-safe.
SiteReading read_site(Cluster& cluster);

/// Slices of jobs that the site's workers have in progress at once, without those that are dead or
/// draining. Throws ClusterError. Thread-safe.
std::size_t slots_of_site(Cluster& cluster);

/// Makes the site's streams again if the broker has lost them, and the settings allow it. Does not
/// wait for a broker that is away. A failure is logged. Thread-safe.
void restore_site(Cluster& cluster) noexcept;

}  // namespace vcap
