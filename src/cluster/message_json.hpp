// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace vcap {

/// Parses a message of a cluster, which is an object with a "schema" of this name and version, such
/// as "vcap.lease/1". Later versions only add fields, which are ignored, or have another number.
/// Throws ClusterError (invalid_message).
nlohmann::json parse_message(std::string_view message, std::string_view schema);

/// Throws ClusterError (invalid_message) because a field is missing or of the wrong type.
[[noreturn]] void refuse_message(std::string_view schema, const std::string& why);

/// Calls `read`, whose errors of JSON become ClusterError (invalid_message).
template <class Read>
auto read_message(std::string_view schema, const Read& read) {
  try {
    return read();
  } catch (const nlohmann::json::exception& error) {
    refuse_message(schema, error.what());
  }
}

}  // namespace vcap
