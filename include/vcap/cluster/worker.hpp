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
#include "vcap/loading/load_capsule.hpp"

namespace vcap {

/// How a worker works. Thread safety: value.
struct WorkerSettings {
  /// A folder for capsules that were fetched, by their digests, and for files that are being
  /// written. It is created if it is missing. Workers on one machine may share it.
  std::string folder{};
  /// How capsules are loaded: trust policy, keys, resources. Config, stencil and what happens to
  /// invalid output come from the jobs.
  LoadOptions load{};
  int slots = 0;  ///< slices in progress at once; 0: one for each core
  /// Duration of a lease on a slice. It is renewed while the worker lives; another worker takes the
  /// slice over when it has run out. From 1 s to 1 day.
  std::chrono::nanoseconds lease = std::chrono::seconds(30);
  std::function<void()> on_load{};  ///< after the capsules of a job were loaded [worker's thread]
};

/// What a worker has done. Thread safety: value.
struct WorkerStatistics {
  std::uint64_t done = 0;      ///< slices
  std::uint64_t failed = 0;    ///< attempts
  std::uint64_t released = 0;  ///< slices that were given back, because the worker was to end
  std::uint64_t refused = 0;   ///< messages that were not valid
};

/// Works on the jobs of a cluster's site, as long as run() runs: it takes slices of videos, runs
/// them as run_job() does, and stores their results. The videos must be on this machine under the
/// paths that the jobs name, such as in a folder that all machines share. Capsules are fetched from
/// the cluster, by their digests, and are loaded under the trust policy of `load`.
///
/// Jobs of a higher priority come first; jobs of the same one share the slots equally. What a
/// killed worker had in progress is done by another one, when its lease has run out. Thread safety:
/// thread-safe.
class VCAP_EXPORT ClusterWorker {
 public:
  /// Throws InvalidArgument for settings that are not valid, OutputError if the folder cannot be
  /// used.
  ClusterWorker(std::shared_ptr<Cluster> cluster, WorkerSettings settings);
  ~ClusterWorker();
  ClusterWorker(const ClusterWorker&) = delete;
  ClusterWorker& operator=(const ClusterWorker&) = delete;

  /// Works until `stop` is requested; slices in progress are then given back. A broker that is away
  /// is waited for. Call once.
  void run(const std::stop_token& stop);
  WorkerStatistics statistics() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
