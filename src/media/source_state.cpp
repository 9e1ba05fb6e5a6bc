// SPDX-License-Identifier: Apache-2.0
#include "vcap/media/source_state.hpp"

#include <nlohmann/json.hpp>

namespace vcap {

std::string to_string(SourceState::Connection connection) {
  switch (connection) {
    case SourceState::Connection::connecting:
      return "connecting";
    case SourceState::Connection::running:
      return "running";
    case SourceState::Connection::reconnecting:
      return "reconnecting";
  }
  return "?";
}

void to_json(nlohmann::json& json, const SourceState& state) {
  json = {{"connection", to_string(state.connection)},
          {"lasts_s", std::chrono::duration<double>(state.lasts).count()},
          {"losses", state.losses},
          {"attempts", state.attempts}};
  if (!state.last_failure.empty()) json["last_failure"] = state.last_failure;
}

}  // namespace vcap
