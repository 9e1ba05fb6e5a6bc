// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cluster/broker.hpp"

namespace vcap {

/// What the server at a URL says about itself. A server greets each connection with one line of
/// JSON, before encryption and login; libnats 3.4 keeps it to itself, so this is read from a
/// connection of its own. `nullopt` if the server does not greet within `timeout`, as if it
/// encrypts from the first byte, or says something else.
std::optional<BrokerServer> read_server_info(const std::string& url,
                                             std::chrono::milliseconds timeout);

}  // namespace vcap
