// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <variant>

#include "pipeline/http_message.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// What body a request may have. Thread safety: value.
struct BodyRule {
  std::size_t most_bytes = 0;  ///< 0: none. A longer body is answered with status 413
  /// If it is not empty, the body is written to a new file there, which only this user can read.
  /// If that fails, the answer has status 507 (no space) or 500.
  std::filesystem::path folder{};
};

/// Answers one request, once, from any thread. Copies answer the same request. If all copies are
/// destroyed and none has answered, the answer has status 500. Thread safety: thread-safe.
class VCAP_EXPORT HttpReply {
 public:
  /// `deliver` is called once, by send() or the destructor of the last copy.
  explicit HttpReply(std::function<void(HttpAnswer)> deliver);

  /// Only the first call for a request has an effect. Does nothing if the client has gone or the
  /// server is destroyed. Never waits.
  void send(HttpAnswer answer) const;

 private:
  struct VCAP_LOCAL State;
  std::shared_ptr<State> state_;
};

/// Answers the requests of a server. Implemented by who uses HttpServer. An exception of either
/// function becomes an answer with status 500. Thread safety: the server calls it in one thread,
/// which serves all clients, so it must not wait.
class VCAP_EXPORT HttpHandler {
 public:
  virtual ~HttpHandler();

  /// The request's header is complete; `head` has no body yet. An HttpAnswer refuses the request:
  /// its body is not read, and the connection is closed after the answer. [server thread]
  virtual std::variant<BodyRule, HttpAnswer> admit(const HttpRequest& head) = 0;
  /// The whole request is there. It may be answered now, or later from another thread. A file of
  /// its body is removed with the last copy of `request`. [server thread]
  virtual void respond(HttpRequest request, HttpReply reply) = 0;
};

/// A handler for GET and HEAD, without bodies. Other methods are answered with status 405, unless
/// the path does not exist (404). `answer` is called in the server's thread.
VCAP_EXPORT std::shared_ptr<HttpHandler> make_read_handler(
    std::function<HttpAnswer(const HttpRequest&)> answer);

}  // namespace vcap
