// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/cluster/cluster.hpp"
#include "vcap/jobs/task_queue.hpp"

namespace vcap {

/// A job of a cluster's site. Thread safety: value.
struct ClusterJobStatus {
  std::string id{};
  std::string state{};                   ///< "running", "paused" or "invalid"
  std::string name{};                    ///< the host and the folder of its outputs
  std::chrono::nanoseconds submitted{};  ///< since 1970, by the broker's time
  int priority = 0;
  std::size_t videos = 0;
  /// Its slices, as far as its videos have been cut: a video is cut when it is begun.
  TaskQueue::Counts tasks{};
  /// How long these slices will take, if they go on as since the job was submitted. Absent as long
  /// as nothing is done, and while it is paused.
  std::optional<std::chrono::nanoseconds> left{};
};

/// The jobs of a site, by their ids. Throws ClusterError. Thread-safe.
VCAP_EXPORT std::vector<ClusterJobStatus> cluster_jobs(Cluster& cluster);

/// Ends a job and removes it: workers leave it, and whoever runs it returns. What it has stored so
/// far in its folder of outputs stays. Throws InvalidArgument if there is no such job;
/// ClusterError. Thread-safe.
VCAP_EXPORT void cancel_cluster_job(Cluster& cluster, const std::string& id);

}  // namespace vcap
