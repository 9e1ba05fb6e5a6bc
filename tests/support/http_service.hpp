// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "pipeline/http_listener.hpp"
#include "pipeline/http_server.hpp"

namespace vcap::test {

/// A handler of two functions.
class FunctionHandler final : public HttpHandler {
 public:
  using Admit = std::function<std::variant<BodyRule, vcap::HttpAnswer>(const HttpRequest&)>;
  using Respond = std::function<void(HttpRequest, HttpReply)>;

  FunctionHandler(Admit admit, Respond respond)
      : admit_(std::move(admit)), respond_(std::move(respond)) {}
  std::variant<BodyRule, vcap::HttpAnswer> admit(const HttpRequest& head) override {
    return admit_(head);
  }
  void respond(HttpRequest request, HttpReply reply) override {
    respond_(std::move(request), std::move(reply));
  }

 private:
  const Admit admit_;
  const Respond respond_;
};

/// So long that no test passes because of it.
inline constexpr std::chrono::minutes kNoDeadline{10};

/// Many connections of one address, and deadlines that never pass.
inline constexpr ConnectionLimits kWideLimits{.connections = 256,
                                              .per_address = 256,
                                              .request_deadline = kNoDeadline,
                                              .answer_deadline = kNoDeadline};

/// A web server on a free port of 127.0.0.1.
class HttpService {
 public:
  HttpService(FunctionHandler::Admit admit, FunctionHandler::Respond respond,
              HttpServer::Settings settings = {.limits = kWideLimits}) {
    HttpListener listener("a test", "127.0.0.1:0");
    port_ = listener.port();
    server_.emplace(listener.release(),
                    std::make_shared<FunctionHandler>(std::move(admit), std::move(respond)),
                    std::move(settings));
  }

  std::uint16_t port() const noexcept { return port_; }
  HttpServer& server() noexcept { return *server_; }
  void destroy() { server_.reset(); }

 private:
  std::uint16_t port_ = 0;
  std::optional<HttpServer> server_{};
};

/// Admits bodies of at most so many bytes, in memory or in files of `folder`.
inline FunctionHandler::Admit admit_bodies(std::size_t most_bytes,
                                           const std::filesystem::path& folder = {}) {
  return [=](const HttpRequest&) { return BodyRule{.most_bytes = most_bytes, .folder = folder}; };
}

/// A POST with a body of one piece.
inline std::string post_of(const std::string& body, const std::string& path = "/") {
  return "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

inline std::string hexadecimal_size(std::size_t size) {
  std::string text;
  for (; size > 0; size /= 16) text.insert(text.begin(), "0123456789abcdef"[size % 16]);
  return text.empty() ? "0" : text;
}

/// A POST with a body of chunks of at most so many bytes.
inline std::string chunked_post_of(const std::string& body, std::size_t chunk) {
  std::string text = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (std::size_t at = 0; at < body.size(); at += chunk) {
    const std::string piece = body.substr(at, chunk);
    text += hexadecimal_size(piece.size()) + "\r\n" + piece + "\r\n";
  }
  return text + "0\r\n\r\n";
}

/// The content of a body of chunks, as far as its chunks are complete.
inline std::string without_chunks(const std::string& body) {
  std::string content;
  std::size_t at = 0;
  for (;;) {
    const std::size_t line = body.find("\r\n", at);
    if (line == std::string::npos) return content;
    const std::size_t size = std::stoul(body.substr(at, line - at), nullptr, 16);
    if (size == 0 || line + 4 + size > body.size()) return content;
    content += body.substr(line + 2, size);
    at = line + 4 + size;
  }
}

}  // namespace vcap::test
