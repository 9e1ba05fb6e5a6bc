// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "files/file_descriptor.hpp"
#include "vcap/pipeline/connection_limits.hpp"

namespace vcap {

/// Answers GET requests for one path over HTTP, each with a new text and in a connection of its
/// own. All clients are served by one thread, which waits for none of them. docs/adr/0015 says why
/// it is built on libmicrohttpd. Thread safety: thread-safe.
class TextServer {
 public:
  /// Makes the text of an answer. An exception becomes an answer with status 500. [server thread]
  using Text = std::function<std::string()>;

  /// `listener`: an IPv4 socket that listens and does not block. `type`: the Content-Type. Throws
  /// OutputError (output_open), or std::system_error if the system refuses a thread or descriptor.
  TextServer(FileDescriptor listener, std::string path, std::string type, Text text,
             const ConnectionLimits& limits);
  /// Waits until a text that is being made is complete, and closes all connections.
  ~TextServer();
  TextServer(const TextServer&) = delete;
  TextServer& operator=(const TextServer&) = delete;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
