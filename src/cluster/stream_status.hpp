// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cluster/placement.hpp"
#include "cluster/site_view.hpp"
#include "vcap/base/clock.hpp"
#include "vcap/cluster/cluster_stream.hpp"

namespace vcap {

/// What a stream of the view does. `placement`: of the same view and time.
ClusterStreamStatus status_of(const SiteView& view, const Placement& placement,
                              const std::string& id, Clock::time_point now);

}  // namespace vcap
