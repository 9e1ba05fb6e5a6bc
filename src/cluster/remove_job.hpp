// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "vcap/cluster/cluster.hpp"

namespace vcap {

/// Ends a job, and removes what the broker and the shared folder have of it. Workers learn that it
/// has ended before its tasks are gone. Idempotent. Throws ClusterError.
void remove_job(Cluster& cluster, const std::string& id);

}  // namespace vcap
