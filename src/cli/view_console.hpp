// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "vcap/view/live_view.hpp"

namespace vcap::cli {

/// Where the view is: http://HOST:PORT/, or https:// with TLS.
std::string url_of(const LiveViewSettings& settings, std::uint16_t port);
/// The same for a browser on another machine: if the view listens on all addresses, HOST is the
/// machine's name.
std::string url_for_others(const LiveViewSettings& settings, std::uint16_t port);

/// Shows the log in the view for as long as it lives, and says where the view is. `settings`: those
/// that it was made with.
void announce(const std::shared_ptr<LiveView>& view, const LiveViewSettings& settings);

}  // namespace vcap::cli
