// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "support/loopback_port.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"
#include "vcap/cluster/cluster.hpp"

namespace vcap::test {

/// A nats-server with JetStream on a port of 127.0.0.1, which a test kills and starts again.
class NatsServer {
 public:
  /// `more`: further lines of its configuration.
  explicit NatsServer(std::string more = {}) : more_(std::move(more)), port_(free_port()) {
    start();
  }

  std::uint16_t port() const { return port_; }
  std::string url() const { return "nats://127.0.0.1:" + std::to_string(port_); }
  ClusterSettings settings() const { return {.url = url(), .site = "test"}; }

  void start() {
    folder_.write("nats.conf", "host: 127.0.0.1\nport: " + std::to_string(port_) +
                                   "\njetstream { store_dir: \"" + (folder_ / "js").string() +
                                   "\" }\n" + more_);
    process_.start({"/usr/sbin/nats-server", "-c", (folder_ / "nats.conf").string()}, port_,
                   (folder_ / "log").string());
  }
  void kill() { process_.kill(); }
  /// It neither reads nor answers until resume().
  void hang() const { process_.hang(); }
  void resume() const { process_.resume(); }

 private:
  const TemporaryFolder folder_;
  const std::string more_;
  const std::uint16_t port_;
  ServerProcess process_;
};

}  // namespace vcap::test
