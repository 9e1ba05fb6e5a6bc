// SPDX-License-Identifier: Apache-2.0
#include "cli/view_console.hpp"

#include <string_view>

#include "cli/console.hpp"
#include "cluster/host_name.hpp"

namespace vcap::cli {
namespace {

std::string host_of_view(const LiveViewSettings& settings) {
  return settings.address.substr(0, settings.address.rfind(':'));
}

std::string url_with(const LiveViewSettings& settings, const std::string& host,
                     std::uint16_t port) {
  return (settings.tls ? "https://" : "http://") + host + ":" + std::to_string(port) + "/";
}

}  // namespace

std::string url_of(const LiveViewSettings& settings, std::uint16_t port) {
  return url_with(settings, host_of_view(settings), port);
}

std::string url_for_others(const LiveViewSettings& settings, std::uint16_t port) {
  const std::string host = host_of_view(settings);
  return url_with(settings, host == "0.0.0.0" ? host_name() : host, port);
}

void announce(const std::shared_ptr<LiveView>& view, const LiveViewSettings& settings) {
  Console::shared().show_log(
      [view = std::weak_ptr<LiveView>(view)](LogLevel level, std::string_view line) {
        if (const auto shown = view.lock()) shown->log(level, line);
      });
  Console::shared().line("vcap: the live view is at " + url_of(settings, view->port()));
  const std::string host = host_of_view(settings);
  if (!settings.tokens.empty() && !settings.tls && host != "127.0.0.1" && host != "localhost")
    Console::shared().line(
        "vcap: tokens and pictures of the live view go over the network as they are; use a proxy "
        "with TLS, or --tls-cert and --tls-key");
}

}  // namespace vcap::cli
