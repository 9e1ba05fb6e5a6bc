// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/pipeline/pipeline.hpp"

namespace vcap {

/// Offers what a pipeline does (Pipeline::stats) to Prometheus: GET /metrics by HTTP, in its text
/// format. docs/streams.md lists the names.
///
/// Numbers are taken when they are asked for, about what is there then: a stream that was forgotten
/// is in no further answer. There is neither encryption nor a password; whoever reaches the port
/// reads the names of streams and capsules. The pipeline must outlive it. The destructor waits for
/// answers in progress. Thread safety: thread-safe.
class VCAP_EXPORT MetricsServer {
 public:
  /// Listens, on two threads of its own. `host_and_port`, such as "127.0.0.1:9464", is an IPv4
  /// address or a name that has one, and a port, of which 0 is any that is free. Throws
  /// InvalidArgument for anything else, OutputError (output_open) where it cannot listen there,
  /// such as on a port in use.
  MetricsServer(const Pipeline& pipeline, const std::string& host_and_port);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  /// The one that it listens on.
  std::uint16_t port() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
