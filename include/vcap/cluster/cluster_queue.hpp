// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/cluster/cluster.hpp"
#include "vcap/jobs/task_queue.hpp"

namespace vcap {

/// A task queue of a cluster's site: all processes that name the same queue share its tasks.
///
/// It is created with its first use, and stays until remove_cluster_queue(). Everyone must give the
/// same `max_attempts`. Without a clock, its one clock is the server's. Throws InvalidArgument if
/// the name is not 1 to 128 bytes or max_attempts is below 1; ClusterError. The calls of the queue
/// throw ClusterError if the broker does not answer within ClusterSettings::patience.
VCAP_EXPORT std::unique_ptr<TaskQueue> make_cluster_queue(std::shared_ptr<Cluster> cluster,
                                                          const std::string& name,
                                                          TaskQueue::Settings settings = {});

/// Removes the queue with its tasks and results. Nobody may use it any more. Idempotent. Throws
/// ClusterError.
VCAP_EXPORT void remove_cluster_queue(Cluster& cluster, const std::string& name);

}  // namespace vcap
