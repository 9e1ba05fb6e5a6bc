// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "vcap/cluster/cluster.hpp"

namespace vcap {

/// Ends a job, and removes what the broker and the shared folder have of it, except capsules that
/// other jobs or streams have, too, and that its message says for an hour that it has ended.
/// Idempotent. Throws ClusterError.
void remove_job(Cluster& cluster, const std::string& id);

}  // namespace vcap
