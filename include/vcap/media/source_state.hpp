// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// Whether a live source is connected. Thread safety: value.
struct SourceState {
  enum class Connection {
    connecting,   ///< has given no picture yet, and tries to
    running,      ///< gives pictures
    reconnecting  ///< was lost, and tries to give pictures again
  };

  Connection connection = Connection::connecting;
  /// How long it has been so, when it was asked.
  std::chrono::nanoseconds lasts{0};
  std::int64_t losses = 0;  ///< how many times a connection that gave pictures was lost
  int attempts = 0;         ///< to connect, since the last picture or the begin
  /// Why the last connection was lost, or the last attempt failed; empty if none has. Without
  /// passwords.
  std::string last_failure{};

  bool operator==(const SourceState&) const = default;
};

/// "connecting", "running" or "reconnecting".
VCAP_EXPORT std::string to_string(SourceState::Connection connection);

/// {"connection": "reconnecting", "lasts_s": 2.5, "losses": 1, "attempts": 2, "last_failure": "…"}
VCAP_EXPORT void to_json(nlohmann::json& json, const SourceState& state);

}  // namespace vcap
