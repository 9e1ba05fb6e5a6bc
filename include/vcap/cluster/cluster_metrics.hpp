// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/cluster/cluster.hpp"
#include "vcap/pipeline/connection_limits.hpp"

namespace vcap {

/// Serves the metrics of a site to Prometheus: GET /metrics over HTTP. Each answer is read from the
/// broker: all workers with their counters, all streams, and the tasks of all jobs. So it is the
/// same whichever machine serves it. docs/clusters.md lists the names. Without encryption or
/// password, as MetricsServer. Thread safety: thread-safe.
class VCAP_EXPORT ClusterMetricsServer {
 public:
  /// Throws as MetricsServer.
  ClusterMetricsServer(const std::shared_ptr<Cluster>& cluster, const std::string& host_and_port,
                       const ConnectionLimits& limits = {});
  ~ClusterMetricsServer();
  ClusterMetricsServer(const ClusterMetricsServer&) = delete;
  ClusterMetricsServer& operator=(const ClusterMetricsServer&) = delete;

  /// The port that it listens on.
  std::uint16_t port() const noexcept;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
