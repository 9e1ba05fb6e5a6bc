// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "files/file_descriptor.hpp"
#include "vcap/base/export.hpp"
#include "vcap/pipeline/connection_limits.hpp"

namespace vcap {

/// What a client asks for. Thread safety: value.
struct HttpRequest {
  std::string path{};
  std::string host{};                              ///< the Host header; empty if there is none
  std::map<std::string, std::string> arguments{};  ///< of the URL, decoded
};

/// Thread safety: value.
struct HttpAnswer {
  unsigned status = 200;
  std::string text{};
  std::string type = "text/plain; charset=utf-8";
  std::map<std::string, std::string> headers{};  ///< further ones, by name
};

/// Answers GET and HEAD requests over HTTP, each in a connection of its own. All clients are served
/// by one thread, which waits for none of them. docs/adr/0015 says why it is built on
/// libmicrohttpd. Thread safety: thread-safe.
class VCAP_EXPORT HttpServer {
 public:
  /// Makes an answer. An exception becomes an answer with status 500. [server thread]
  using Respond = std::function<HttpAnswer(const HttpRequest&)>;

  /// `listener`: an IPv4 socket that listens and does not block. Throws OutputError (output_open),
  /// or std::system_error if the system refuses a thread or descriptor.
  HttpServer(FileDescriptor listener, Respond respond, const ConnectionLimits& limits);
  /// Waits until an answer that is being made is complete, and closes all connections.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

 private:
  struct VCAP_LOCAL Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
