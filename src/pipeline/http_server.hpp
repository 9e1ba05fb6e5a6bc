// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "files/file_descriptor.hpp"
#include "pipeline/http_handler.hpp"
#include "pipeline/http_message.hpp"
#include "vcap/base/export.hpp"
#include "vcap/pipeline/connection_limits.hpp"
#include "vcap/pipeline/tls_files.hpp"

namespace vcap {

/// Answers HTTP/1.1 requests, each in a connection of its own. All clients are served by one
/// thread, which waits for none of them. A client that shuts down its sending side before the
/// answer begins counts as gone. docs/adr/0015 says why it is built on libmicrohttpd. Thread
/// safety: thread-safe.
class VCAP_EXPORT HttpServer {
 public:
  struct Settings {
    ConnectionLimits limits{};
    std::optional<TlsFiles> tls{};  ///< then it speaks https only, TLS 1.2 or newer
  };

  /// `listener`: an IPv4 socket that listens and does not block. Throws OutputError (output_open),
  /// InvalidArgument if a file of TLS cannot be used, or std::system_error if the system refuses a
  /// thread or descriptor.
  HttpServer(FileDescriptor listener, std::shared_ptr<HttpHandler> handler, Settings settings);
  /// Waits until a call of the handler or a stream returns, and closes all connections.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// There may be something to take from a stream that had nothing. Many calls cost little more
  /// than one. [any thread]
  void wake() noexcept;

 private:
  struct VCAP_LOCAL Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
