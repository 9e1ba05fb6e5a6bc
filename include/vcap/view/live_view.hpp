// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/pipeline/connection_limits.hpp"
#include "vcap/pipeline/pipeline.hpp"
#include "vcap/records/sink.hpp"

namespace vcap {

/// Shows the streams of a pipeline in a browser of the same machine: their newest pictures with the
/// results drawn on them, their newest record, statistics and the plan (docs/live-view.md).
///
///     vcap::LiveView view(pipeline, "127.0.0.1:0");
///     config.sinks.push_back(view.sink());  // of each stream that is to be seen
///
/// Nothing is drawn or encoded unless somebody looks at a stream, and each picture is encoded once
/// for each width, however many look. No client holds up a stream. There is no password, so it
/// listens on loopback addresses only, and changes nothing. The pipeline must outlive it. The
/// destructor waits for an answer that is being made, and closes all connections. Thread safety:
/// thread-safe.
class VCAP_EXPORT LiveView {
 public:
  /// Starts listening, with one thread. `host_and_port`, such as "127.0.0.1:9465": a loopback
  /// address, or a name that has one, and a port; port 0 means any free port. Throws
  /// InvalidArgument if it has another form or other machines could reach it; OutputError
  /// (output_open) if the server cannot listen there. Also throws what ConnectionLimits::check()
  /// throws, and std::system_error if the system refuses the thread.
  LiveView(const Pipeline& pipeline, const std::string& host_and_port,
           const ConnectionLimits& limits = {.per_address = 64});
  ~LiveView();
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;

  /// The port that it listens on.
  std::uint16_t port() const noexcept;
  /// For any number of streams. It may outlive the view, and then does nothing.
  std::shared_ptr<Sink> sink() const;

 private:
  struct VCAP_LOCAL Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
