// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "vcap/base/export.hpp"

namespace vcap {

/// What a client asks for. Thread safety: value.
struct HttpRequest {
  std::string method{};                                 ///< such as GET, as the client sent it
  std::string path{};                                   ///< decoded, without the arguments
  std::string host{};                                   ///< the Host header; empty if there is none
  std::multimap<std::string, std::string> arguments{};  ///< of the URL, decoded; a name may repeat
  /// By lower-case name; the values of a repeated one are joined by ", ".
  std::map<std::string, std::string> headers{};
  std::string body{};                   ///< if it is kept in memory
  std::filesystem::path body_file{};    ///< if it is kept in a file, else empty
  std::shared_ptr<const void> owner{};  ///< removes `body_file` with the last copy of the request

  /// The first argument of that name; empty if there is none.
  std::string argument(const std::string& name) const {
    const auto found = arguments.lower_bound(name);
    return found == arguments.end() || found->first != name ? std::string() : found->second;
  }
  /// The header of that lower-case name; empty if there is none.
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  }
};

/// An answer's body that is made while it is sent. Implemented by who answers, called by the
/// server. A stream belongs to one answer; the pieces may be shared by many. Thread safety: the
/// server calls it in one thread.
class VCAP_EXPORT HttpStream {
 public:
  virtual ~HttpStream();

  /// The next piece; `nullptr` if there is none now. Then it is asked again after
  /// HttpServer::wake(). An exception ends the connection. [server thread]
  virtual std::shared_ptr<const std::string> next() = 0;
  /// Whether next() will give nothing more. It is asked before next(). [server thread]
  virtual bool ended() const = 0;
  /// No more pieces are taken: all are sent, the client went away, or the server ends. Comes once.
  /// [server thread, or the thread that destroys the server]
  virtual void closed() noexcept {}
};

/// Thread safety: value.
struct HttpAnswer {
  unsigned status = 200;
  std::string text{};
  std::string type = "text/plain; charset=utf-8";
  std::map<std::string, std::string> headers{};  ///< further ones, by name
  std::shared_ptr<HttpStream> stream{};          ///< if set, it is sent in place of `text`
};

}  // namespace vcap
