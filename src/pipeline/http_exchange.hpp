// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <microhttpd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "pipeline/http_body.hpp"
#include "pipeline/http_handler.hpp"
#include "pipeline/http_message.hpp"

namespace vcap {

/// A request and its answer, from the end of the header until the connection is closed. Thread
/// safety: thread-compatible, used in the server's thread.
struct HttpExchange {
  void* const server;  ///< for callbacks of libmicrohttpd
  const std::uint64_t number;
  MHD_Connection* const connection;
  const int socket;

  HttpRequest request{};           ///< until the handler has it
  std::optional<HttpBody> body{};  ///< if one is admitted
  bool is_asked = false;           ///< the handler has the request
  std::optional<HttpAnswer> answer{};

  bool is_suspended = false;
  bool is_gone = false;  ///< the connection is to be closed

  // Of the answer's stream.
  std::shared_ptr<const std::string> piece{};  ///< `nullptr` if all of it is taken
  std::size_t taken = 0;                       ///< bytes of `piece`
  bool is_ended = false;
  int unsent = 0;  ///< bytes in the system's buffer when that was last asked

  /// Asks the stream for a piece. False if there is nothing to do now.
  bool ask_stream() noexcept;
  /// Copies some of the present piece; 0 if there is none.
  std::size_t take(char* buffer, std::size_t most) noexcept;
  /// Queues the answer, which stays here while it is sent. `read` is called for a stream, with
  /// this.
  MHD_Result queue(MHD_ContentReaderCallback read);
};

/// The request without its body.
HttpRequest request_of(MHD_Connection* connection, const char* path, const char* method);

/// Whether the header announces a body.
bool announces_body(const HttpRequest& head);

/// The answer to a request whose header announces a body that is not allowed.
std::optional<HttpAnswer> refuse_body(const HttpRequest& head, const BodyRule& rule);

}  // namespace vcap
