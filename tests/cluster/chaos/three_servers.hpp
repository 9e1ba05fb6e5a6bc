// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "cluster/chaos/small_disk.hpp"
#include "cluster/link.hpp"
#include "support/bounded_wait.hpp"
#include "support/http_get.hpp"
#include "support/loopback_port.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"

namespace vcap::test {

/// A cluster of three nats-servers. Each pair has a network of its own, which a test cuts, and each
/// server a disk of its own, if this process may have one.
class ThreeServers {
 public:
  static constexpr std::size_t kServers = 3;

  ThreeServers() {
    for (std::size_t i = 0; i < kServers; ++i) {
      Server& server = servers_[i];
      server.disk = std::make_unique<SmallDisk>(folder_ / name(i), "128m");
      for (std::size_t j = 0; j < kServers; ++j)
        if (j != i) server.routes_to[j] = std::make_unique<Link>(servers_[j].route_port);
    }
    for (std::size_t i = 0; i < kServers; ++i) start(i);
    yield_until("a leader", [this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return leader().has_value();
    });
  }

  std::uint16_t port(std::size_t server) const { return servers_.at(server).port; }
  std::string url() const {
    std::string url;
    for (const Server& server : servers_)
      url +=
          (url.empty() ? "nats://127.0.0.1:" : ",nats://127.0.0.1:") + std::to_string(server.port);
    return url;
  }

  void kill(std::size_t server) {
    servers_.at(server).process.kill();
    servers_.at(server).runs = false;
  }
  /// With what its disk has. Idempotent.
  void start(std::size_t number) {
    Server& server = servers_.at(number);
    if (server.runs) return;
    server.process.start({"/usr/sbin/nats-server", "-c",
                          folder_.write(name(number) + ".conf", configuration(number))},
                         server.port, folder_ / (name(number) + ".log"));
    server.runs = true;
  }
  /// One after the other, as an operator does if they have failed.
  void restart_each() {
    for (std::size_t i = 0; i < kServers; ++i) {
      restart(i);
      std::this_thread::sleep_for(std::chrono::seconds(2));
    }
  }
  void restart(std::size_t server) {
    kill(server);
    start(server);
  }
  void hang(std::size_t server) const {
    if (servers_.at(server).runs) servers_.at(server).process.hang();
  }
  void resume(std::size_t server) const {
    if (servers_.at(server).runs) servers_.at(server).process.resume();
  }
  /// The others neither hear it nor are heard by it; clients are. Until rejoin().
  void cut_off(std::size_t server) {
    each_route_of(server, [](Link& link) { link.cut(); });
  }
  void rejoin(std::size_t server) {
    each_route_of(server, [](Link& link) { link.mend(); });
  }
  const SmallDisk& disk(std::size_t server) const { return *servers_.at(server).disk; }

  /// Who leads the stream, or, without a name, the cluster.
  std::optional<std::size_t> leader(const std::string& stream = {}) const {
    for (const Server& server : servers_) {
      try {
        const std::string leader = leader_in(state_of(server), stream);
        for (std::size_t i = 0; i < kServers; ++i)
          if (leader == name(i)) return i;
      } catch (const std::system_error&) {          // this one does not run
      } catch (const nlohmann::json::exception&) {  // it hangs, or has no leader now
      }
    }
    return std::nullopt;
  }

  /// Which servers do not have all of each stream; all of them if nobody leads it. A leader knows
  /// what the others have, but believes a server that lost its files to have what it had before.
  /// `without`: a server that does not run.
  using Lack = std::map<std::string, std::set<std::size_t>>;
  Lack lacking(std::optional<std::size_t> without = {}) const {
    std::map<std::string, std::array<nlohmann::json, kServers>> states;
    for (std::size_t i = 0; i < kServers; ++i)
      each_stream(i, [&](const std::string& stream, const nlohmann::json& detail) {
        states[stream][i] = detail;
      });
    Lack lack;
    for (const auto& [stream, details] : states) {
      std::set<std::size_t>& servers = lack[stream] = {0, 1, 2};
      if (without) servers.erase(*without);
      for (std::size_t leader = 0; leader < kServers; ++leader) {
        if (details[leader].is_null() || leader_of(details[leader]) != name(leader)) continue;
        std::erase_if(servers, [&](std::size_t i) {
          return i == leader ||
                 (follows(details[leader], name(i)) && has(details[i], details[leader]));
        });
      }
    }
    return lack;
  }
  /// Starts it without what its disk has: it gets all from the others.
  void renew(std::size_t server) {
    kill(server);
    std::filesystem::remove_all(disk(server).folder() / "jetstream");
    start(server);
  }

 private:
  struct Server {
    const std::uint16_t port = free_port();
    const std::uint16_t route_port = free_port();
    const std::uint16_t monitor_port = free_port();
    std::array<std::unique_ptr<Link>, kServers> routes_to{};
    std::unique_ptr<SmallDisk> disk{};
    ServerProcess process{};
    bool runs = false;
  };

  /// By HTTP/1.0, so that the answer is not in chunks.
  static nlohmann::json state_of(const Server& server) {
    const LoopbackConnection connection(server.monitor_port, 1);
    connection.send("GET /jsz?accounts=true&streams=true HTTP/1.0\r\n\r\n");
    return nlohmann::json::parse(http_answer_of(connection.read_all()).body);
  }
  /// A leader that has just begun knows nobody.
  static bool follows(const nlohmann::json& leader, const std::string& name) {
    const auto replicas = leader.at("cluster").value("replicas", nlohmann::json::array());
    return std::ranges::any_of(replicas, [&](const auto& replica) {
      return replica.value("name", "") == name && replica.value("current", false) &&
             replica.value("lag", 0) == 0;
    });
  }
  /// Sequences of a stream may differ among servers by a few, for good (2.9.10).
  static bool has(const nlohmann::json& own, const nlohmann::json& leader) {
    constexpr std::uint64_t kMostDrift = 100;
    if (own.is_null()) return false;
    const auto last = [](const nlohmann::json& detail) {
      return detail.at("state").at("last_seq").get<std::uint64_t>();
    };
    return last(own) + kMostDrift >= last(leader) && (last(own) > 0 || last(leader) == 0);
  }
  /// Nothing for a server that does not answer.
  template <class Visit>
  void each_stream(std::size_t server, const Visit& visit) const {
    try {
      const nlohmann::json state = state_of(servers_[server]);
      for (const auto& account : state.at("account_details"))
        for (const auto& stream : account.at("stream_detail")) visit(stream.at("name"), stream);
    } catch (const std::system_error&) {
    } catch (const nlohmann::json::exception&) {
    }
  }
  /// Empty if the server knows none.
  static std::string leader_of(const nlohmann::json& stream) {
    return stream.at("cluster").value("leader", "");
  }
  static std::string leader_in(const nlohmann::json& answer, const std::string& stream) {
    if (stream.empty()) return answer.at("meta_cluster").at("leader");
    for (const auto& account : answer.at("account_details"))
      for (const auto& detail : account.at("stream_detail"))
        if (detail.at("name") == stream) return leader_of(detail);
    return {};
  }
  static std::string name(std::size_t server) { return "server" + std::to_string(server); }

  void each_route_of(std::size_t server, const std::function<void(Link&)>& change) {
    for (std::size_t other = 0; other < kServers; ++other) {
      if (other == server) continue;
      change(*servers_[server].routes_to[other]);
      change(*servers_[other].routes_to[server]);
    }
  }

  /// Clients and servers use the given addresses, and none that a server announces.
  std::string configuration(std::size_t number) const {
    const Server& server = servers_[number];
    std::string routes;
    for (const auto& link : server.routes_to)
      if (link) routes += link->url() + ", ";
    return "server_name: " + name(number) +
           "\nhost: 127.0.0.1\nport: " + std::to_string(server.port) +
           "\nhttp: \"127.0.0.1:" + std::to_string(server.monitor_port) +
           "\"\njetstream { store_dir: \"" + server.disk->folder().string() +
           "\", max_file_store: 8GB }\ncluster { name: chaos, host: 127.0.0.1, port: " +
           std::to_string(server.route_port) +
           ", no_advertise: true, advertise: \"127.0.0.1:1\", routes: [ " + routes + "] }\n";
  }

  const TemporaryFolder folder_;
  std::array<Server, kServers> servers_{};
};

}  // namespace vcap::test
