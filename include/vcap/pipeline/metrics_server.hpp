// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/pipeline/connection_limits.hpp"
#include "vcap/pipeline/pipeline.hpp"
#include "vcap/records/publisher.hpp"

namespace vcap {

/// Serves the metrics of a pipeline (Pipeline::stats) to Prometheus: GET /metrics over HTTP, in the
/// Prometheus text format, and the counts of publishers. docs/observing.md lists the names.
///
/// Each answer is a new snapshot of what exists then; a forgotten stream is in no later answer.
/// There is no encryption and no password: anyone who can reach the port can read the names of
/// streams, capsules and publishers. Clients that send nothing or slowly keep nobody else out
/// (ConnectionLimits). The pipeline must outlive the server. The destructor waits for an answer
/// that is being made, and closes all connections. Thread safety: thread-safe.
class VCAP_EXPORT MetricsServer {
 public:
  /// By the name that a publisher has in the metrics. One that no longer exists is in no later
  /// answer.
  using Publishers = std::map<std::string, std::weak_ptr<const Publisher>>;

  /// Starts listening, with one thread, which waits for no client. `host_and_port`, such as
  /// "127.0.0.1:9464", is an IPv4 address, or a name that has one, and a port. Port 0 means any
  /// free port. Throws InvalidArgument if it has another form; OutputError (output_open) if the
  /// server cannot listen there, for example because the port is in use. Also throws what
  /// ConnectionLimits::check() throws, and std::system_error if the system refuses the thread.
  MetricsServer(const Pipeline& pipeline, const std::string& host_and_port,
                const ConnectionLimits& limits = {}, Publishers publishers = {});
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  /// The port that it listens on.
  std::uint16_t port() const noexcept;

 private:
  struct VCAP_LOCAL Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
