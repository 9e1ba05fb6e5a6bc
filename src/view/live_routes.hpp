// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "pipeline/http_server.hpp"
#include "view/live_access.hpp"

namespace vcap {

/// An answer other than success, thrown by a route.
class LiveRefusal : public std::runtime_error {
 public:
  LiveRefusal(unsigned status, const std::string& message, std::string code = "refused")
      : std::runtime_error(message), status_(status), code_(std::move(code)) {}

  unsigned status() const noexcept { return status_; }
  const std::string& code() const& noexcept { return code_; }

 private:
  unsigned status_;
  std::string code_;
};

/// A request whose client may make it. Thread safety: value.
struct LiveCall {
  HttpRequest request{};
  LiveClient client{};

  bool has(const std::string& name) const { return request.arguments.contains(name); }
  /// The first argument of that name; empty if there is none.
  std::string argument(const std::string& name) const { return request.argument(name); }
  std::vector<std::string> arguments(const std::string& name) const;
  /// The argument as a number. Throws LiveRefusal (400).
  double number(const std::string& name, double absent, double least, double greatest) const;
  /// The body as JSON. Throws LiveRefusal (422) with line and column of a fault.
  nlohmann::json body() const;
};

/// One thing that a client can ask for. The table of all of them is the API, its OpenAPI document
/// and what its tests go through. Thread safety: value.
struct LiveRoute {
  struct Parameter {
    std::string name{};
    bool required = false;
    std::string about{};
    bool is_list = false;
  };
  /// Which streams it concerns.
  enum class Streams {
    any,     ///< those that the client may see
    one,     ///< that of the parameter "stream"
    perhaps  ///< that of the parameter "stream"; without it all, also those that come later
  };

  std::string method{};
  std::string path{};
  std::optional<ViewRole> role{};  ///< that it needs; absent: no token
  Streams streams = Streams::any;
  std::string about{};
  std::vector<Parameter> parameters{};
  std::string body{};   ///< what the body is; empty: no body
  std::string gives{};  ///< the media type of the answer
  std::size_t most_bytes = 0;
  bool in_file = false;  ///< the body goes into a file
  bool is_slow = false;  ///< answered by a thread of its own
  std::function<HttpAnswer(const LiveCall&)> answer{};

  bool changes() const { return method != "GET"; }
};

inline constexpr const char* kJsonType = "application/json";
inline const LiveRoute::Parameter kStreamParameter{
    .name = "stream", .required = true, .about = "The stream's id"};

/// The OpenAPI 3.0 document of the routes.
nlohmann::json openapi(const std::vector<LiveRoute>& routes);

/// The answer to whatever was thrown: status, and {"error": {"code", "message"}}.
HttpAnswer answer_of_failure(const std::exception_ptr& thrown);
HttpAnswer answer_of_json(const nlohmann::json& json, unsigned status = 200);

}  // namespace vcap
