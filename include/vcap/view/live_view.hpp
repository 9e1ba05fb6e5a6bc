// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "vcap/base/export.hpp"
#include "vcap/base/log.hpp"
#include "vcap/pipeline/pipeline.hpp"
#include "vcap/pipeline/viewed_streams.hpp"
#include "vcap/records/sink.hpp"
#include "vcap/view/live_view_settings.hpp"

namespace vcap {

/// Shows the streams of a pipeline in a browser, and lets its users change them: live pictures with
/// the results drawn on them, records, statistics, the plan; options, configs, streams, capsules
/// and recordings (docs/live-view.md).
///
///     vcap::LiveView view(pipeline, {.address = "127.0.0.1:9465"});
///     config.sinks.push_back(view.sink());  // of each stream that is to be seen
///
/// Nothing is drawn or encoded unless somebody looks at a stream. Each picture is encoded once for
/// each width, however many look. No client holds up a stream. Without tokens, it listens on
/// loopback addresses only, and changes nothing. The pipeline must outlive it. The destructor waits
/// for requests in progress, completes recordings and closes all connections. Thread safety:
/// thread-safe.
class VCAP_EXPORT LiveView {
 public:
  /// Starts listening. Throws
  /// - InvalidArgument if the address has another form, if other machines could reach it and there
  ///   are no tokens, or for tokens, annotators, connection limits or TLS files that are not as
  ///   they must be;
  /// - OutputError (output_open) if the server cannot listen there;
  /// - std::system_error if the system refuses a thread.
  LiveView(Pipeline& pipeline, LiveViewSettings settings);
  /// Shows streams of pipelines that come and go, and changes nothing, whatever the settings allow:
  /// clients of all roles may look. It also lists the streams that others run. What the functions
  /// of `streams` refer to must outlive the view. Throws as above, and InvalidArgument if there is
  /// no function for the pipelines.
  LiveView(ViewedStreams streams, LiveViewSettings settings);
  ~LiveView();
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;

  /// The port that it listens on.
  std::uint16_t port() const noexcept;
  /// The sink for any number of streams. It may outlive the view, and then does nothing.
  std::shared_ptr<Sink> sink() const;
  /// Shows a line in the log of the page, which has the newest 200. For a host that gives the lines
  /// of its log hook (set_log_hook). Never throws.
  void log(LogLevel level, std::string_view text) noexcept;
  /// The API that it offers, as an OpenAPI 3.0 document in JSON.
  std::string openapi() const;

 private:
  struct VCAP_LOCAL Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
