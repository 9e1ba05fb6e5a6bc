// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace vcap {

/// How a task ended. Thread safety: value.
struct SettledMessage {
  bool is_done = false;                ///< else given up
  nlohmann::json result{};             ///< of a task that is done
  std::vector<std::string> reasons{};  ///< of one that is given up
};

/// As JSON, "vcap.settled/1".
std::string to_message(const SettledMessage& settled);
/// Throws ClusterError (invalid_message).
SettledMessage read_settled(const std::string& message);

}  // namespace vcap
