// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vcap/image/make_annotators.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/pipeline/connection_limits.hpp"
#include "vcap/pipeline/tls_files.hpp"
#include "vcap/records/sink.hpp"
#include "vcap/sources/source.hpp"
#include "vcap/streams/stream_config.hpp"
#include "vcap/streams/stream_report.hpp"
#include "vcap/view/view_token.hpp"

namespace vcap {

/// Which sources a live view may open. Nothing is allowed by default. Thread safety: value.
struct ViewSources {
  std::vector<std::string> schemes{};  ///< of URLs, such as "rtsp"
  /// Files and folders below these folders, after symbolic links are followed.
  std::vector<std::string> folders{};
  SourceOptions options{};  ///< URLs are always opened with connect_later

  bool empty() const noexcept { return schemes.empty() && folders.empty(); }
};

/// What a recording writes to. Thread safety: value.
struct ViewRecording {
  std::vector<std::string> files{};            ///< their names, for the page
  std::vector<std::shared_ptr<Sink>> sinks{};  ///< closed when the recording stops
};

/// How a live view is reached, and what its clients may change. Passed to LiveView. Functions are
/// called by threads of the view, up to four at a time; what they throw is the answer to the
/// client.
struct LiveViewSettings {
  /// An IPv4 address or a name that has one, and a port; port 0 means any free port.
  std::string address = "127.0.0.1:0";
  ConnectionLimits limits{.connections = 256, .per_address = 128};
  /// Without tokens, the address must be a loopback one, and all users of the machine are viewers.
  std::vector<ViewToken> tokens{};
  std::optional<TlsFiles> tls{};         ///< absent: HTTP; then TLS is a proxy's
  std::string draw{kDefaultAnnotators};  ///< what is drawn on pictures, see make_annotators()
  /// Makes what draws on the pictures of a stream, such as its zones. Empty, or null as its result:
  /// `draw` decides.
  std::function<std::unique_ptr<Annotator>(const std::string& stream)> make_annotator{};

  /// Which sources clients with the role admin may add as streams.
  ViewSources sources{};
  /// Makes the config of such a stream, with its sinks, of its id and source; the view adds its own
  /// sink. Empty: a stream with no other sink.
  std::function<StreamConfig(std::string id, std::unique_ptr<Source> source)> make_stream{};
  /// Opens and closes such streams. Empty: Pipeline::open_stream and Pipeline::close_stream.
  std::function<void(StreamConfig config)> open_stream{};
  std::function<StreamReport(const std::string& id)> close_stream{};

  /// How an uploaded capsule of that name is loaded; the name is empty while its manifest is read.
  /// The trust policy must require a signature and
  /// have keys; otherwise the upload is refused. Empty: uploads are refused.
  std::function<LoadOptions(const std::string& capsule)> upload_options{};
  std::size_t upload_bytes = std::size_t{512} << 20;  ///< the most of one upload
  std::string upload_folder{};  ///< for uploads in progress; empty: the system's temporary folder

  /// Makes what a recording of a stream writes to. A recording whose sink throws ends, with a log
  /// line. Empty: recordings are refused.
  std::function<ViewRecording(const std::string& stream)> make_recording{};
};

}  // namespace vcap
