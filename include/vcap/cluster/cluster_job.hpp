// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/cluster/cluster.hpp"
#include "vcap/jobs/bulk.hpp"
#include "vcap/jobs/job.hpp"
#include "vcap/loading/load_capsule.hpp"

namespace vcap {

/// How run_cluster_job() works, and its callbacks. Thread safety: value.
struct ClusterJobSettings {
  /// How the manifests of the capsules are read. Workers load capsules as their own settings say.
  LoadOptions load{};
  /// A folder that this machine and all workers see under this path. Results go through it; needed
  /// for annotated clips. Empty: results go through the broker.
  std::string shared{};
  int priority = 0;  ///< jobs of a higher one come first; from -100 to 100
  std::chrono::nanoseconds capsule_deadline{0};  ///< as JobSettings
  std::chrono::nanoseconds first_call_deadline{0};
  /// As JobSettings. [caller]
  std::function<void(const JobVideoReport&)> on_video{};
  std::function<void(const JobKept&)> on_resume{};
  /// Gets the number of frames of each slice whose result has come in. [caller]
  std::function<void(std::int64_t)> on_slice{};
  /// Called if no result has come in for 30 seconds, and so on. [caller]
  std::function<void(const TaskQueue::Counts&)> on_idle{};
};

/// Runs a job on the workers of a cluster's site, or goes on with it. As run_job(): the same job,
/// the same folder of outputs, the same bytes. The outputs are put together here, from the results
/// of the workers; the folder must be this machine's own, and only the one who calls it writes
/// there.
///
/// Capsules are sent to the cluster. Videos are not: workers open them under the same paths. If
/// `stop` is requested, the job is paused; with the same call it goes on, also after this process
/// was killed, and meanwhile the workers go on. When all videos are done or have failed, or
/// somebody cancels the job, it is removed from the cluster. A broker that is away is waited for.
///
/// Throws as run_job(); InvalidArgument for settings that are not valid, and if annotated clips are
/// wanted without a shared folder; ClusterError. Thread-safe.
VCAP_EXPORT JobReport run_cluster_job(std::shared_ptr<Cluster> cluster, const Job& job,
                                      const ClusterJobSettings& settings = {},
                                      std::stop_token stop = {});

}  // namespace vcap
