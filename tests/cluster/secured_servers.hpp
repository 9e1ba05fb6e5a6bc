// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "cli/command.hpp"
#include "support/loopback_port.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"
#include "vcap/cluster/cluster.hpp"

namespace vcap::test {

/// A port for clients, with the one for other servers free, too.
inline std::uint16_t free_server_port() {
  for (;;) {
    const std::uint16_t port = free_port();
    if (port > 63'000) continue;
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port + 2'000));
    const bool is_free =
        ::bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(probe);
    if (is_free) return port;
  }
}

/// NATS servers on loopback, with the configuration that `vcap cluster config` writes for the site
/// "test".
class SecuredServers {
 public:
  /// `more`: further arguments of the command.
  explicit SecuredServers(std::size_t count = 1, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"cluster", "config", "--dir",   folder().string(),
                                   "--site",  "test",   "--store", (folder_ / "store").string()};
    std::string servers;
    for (std::size_t i = 0; i < count; ++i) {
      ports_.push_back(free_server_port());
      servers += (i > 0 ? "," : "") + address(i);
    }
    words.insert(words.end(), {"--servers", servers});
    words.insert(words.end(), more.begin(), more.end());
    output = vcap(words);
    if (output.exit_code != 0) throw std::runtime_error(output.err);
  }

  std::filesystem::path folder() const { return folder_ / "config"; }
  std::string address(std::size_t server) const {
    return "127.0.0.1:" + std::to_string(ports_.at(server));
  }
  void start() {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      processes_.push_back(std::make_unique<ServerProcess>());
      processes_.back()->start(
          {"/usr/sbin/nats-server", "-c",
           (folder() / ("server-" + std::to_string(i + 1) + ".conf")).string()},
          ports_[i], (folder_ / "log").string());
    }
  }
  void kill(std::size_t server) { processes_.at(server)->kill(); }

  std::string key(const std::string& role) const { return folder() / (role + ".nk"); }
  /// With the login of a role; what is not permitted fails soon.
  ClusterSettings settings(const std::string& role, const std::string& scheme = "nats://") const {
    std::string url;
    for (std::size_t i = 0; i < ports_.size(); ++i) url += (i > 0 ? "," : "") + scheme + address(i);
    return {.url = url, .site = "test", .nkey = key(role), .timeout = timeout};
  }

  Result output{};  ///< of the command
  std::chrono::milliseconds timeout{150};

 private:
  const TemporaryFolder folder_;
  std::vector<std::uint16_t> ports_;
  std::vector<std::unique_ptr<ServerProcess>> processes_;
};

}  // namespace vcap::test
