// SPDX-License-Identifier: Apache-2.0
// Servers and streams that vcap cannot use.
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "cluster/cluster_impl.hpp"
#include "cluster/nats_server.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using Kind = Site::Kind;

auto unfit(const testing::Matcher<std::string>& words) {
  return ThrowsError<ClusterError>(ErrorCode::broker_unfit, words);
}

/// Speaks as much of the protocol as a client needs to connect.
class GreetingServer {
 public:
  explicit GreetingServer(std::string version) : version_(std::move(version)) {
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        const int socket = ::accept4(listener_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC);
        if (socket < 0) return;
        clients_.emplace_back([this, socket] { serve(socket); });
      }
    });
  }
  ~GreetingServer() {
    thread_.request_stop();
    ::shutdown(listener_.descriptor(), SHUT_RDWR);
  }
  GreetingServer(const GreetingServer&) = delete;
  GreetingServer& operator=(const GreetingServer&) = delete;

  std::string url() const { return "nats://127.0.0.1:" + std::to_string(listener_.port()); }

 private:
  void serve(int socket) const {
    const auto say = [socket](const std::string& text) {
      return ::send(socket, text.data(), text.size(), MSG_NOSIGNAL) > 0;
    };
    say("INFO {\"server_id\":\"x\",\"version\":\"" + version_ +
        "\",\"max_payload\":1048576,\"headers\":true,\"jetstream\":true,\"proto\":1}\r\n");
    std::string text;
    char buffer[4096];
    for (ssize_t count = 1; (count = ::recv(socket, buffer, sizeof buffer, 0)) > 0;) {
      text.append(buffer, static_cast<std::size_t>(count));
      if (text.find("PING") != std::string::npos) {
        say("PONG\r\n");
        text.clear();
      }
    }
    ::close(socket);
  }

  const std::string version_;
  SilentListener listener_;
  std::vector<std::jthread> clients_;
  std::jthread thread_;
};

TEST(ServerCheck, RefusesOldServers) {
  for (const char* const version : {"2.8.4", "1.4.1", "2.0.0-beta.1"}) {
    const GreetingServer server(version);
    EXPECT_THAT([&] { Cluster::connect({.url = server.url()}); },
                unfit(AllOf(HasSubstr(version), HasSubstr("2.9 or later"))));
  }
  // As far as it is checked, later ones pass.
  for (const char* const version : {"2.10.0", "3.0.1", "unknown"}) {
    const GreetingServer server(version);
    EXPECT_THAT(
        [&] {
          Cluster::connect({.url = server.url(),
                            .timeout = std::chrono::milliseconds(50),
                            .patience = std::chrono::milliseconds(0)});
        },
        ThrowsError<ClusterError>(ErrorCode::broker_unreachable, HasSubstr("INFO")));
  }
}

TEST(ServerCheck, RefusesServersWithoutJetStreamAtOnce) {
  const TemporaryFolder folder;
  struct Case {
    std::string configuration;
    std::string words;
  };
  const std::vector<Case> cases{
      {"", "put \"jetstream { store_dir: FOLDER }\""},
      {"jetstream { store_dir: \"" + (folder / "js").string() +
           "\" }\naccounts { A { users: [ { user: a, password: b } ] } }\nno_auth_user: a\n",
       "put \"jetstream: enabled\" into that account"},
      {"jetstream { store_dir: \"" + (folder / "js").string() + "\" }\nmax_payload: 512KB\n",
       "put \"max_payload: 1MB\""}};
  for (const Case& one : cases) {
    const std::uint16_t port = free_port();
    ServerProcess server;
    server.start({"/usr/sbin/nats-server", "-c",
                  folder.write("nats.conf", "listen: 127.0.0.1:" + std::to_string(port) + '\n' +
                                                one.configuration)},
                 port, folder / "log");
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_THAT([&] { Cluster::connect({.url = "nats://127.0.0.1:" + std::to_string(port)}); },
                unfit(HasSubstr(one.words)));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  }
}

TEST(ServerCheck, RefusesStreamsOfAnotherConfigurationWithTheRemedy) {
  const NatsServer server;
  const auto cluster = Cluster::connect(server.settings());
  JetStream& jet_stream = cluster->impl().jet_stream;
  const Site& site = cluster->impl().site;
  const std::string task = site.stream(Kind::task);
  struct Case {
    std::string key;
    Json value;
    std::string remedy;
  };
  const std::vector<Case> cases{
      {"discard", "old", "nats stream edit VCAP_test_TASK --discard=new"},
      {"max_age", 3'600'000'000'000, "nats stream edit VCAP_test_TASK --max-age=0"},
      {"max_msgs", 5, "nats stream edit VCAP_test_TASK --max-msgs=-1"},
      {"max_bytes", 500, "nats stream edit VCAP_test_TASK --max-bytes=-1"},
      {"max_msgs_per_subject", 2, "nats stream edit VCAP_test_TASK --max-msgs-per-subject=1"},
      {"retention", "workqueue", "nats stream rm VCAP_test_TASK"},
      {"storage", "memory", "nats stream rm VCAP_test_TASK"},
      {"deny_delete", true, "nats stream rm VCAP_test_TASK"}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.key);
    Json config = site.streams(1).front();
    ASSERT_EQ(config.at("name"), task);
    config[one.key] = one.value;
    if (one.key == "discard") config.erase("discard_new_per_subject");
    jet_stream.demand("STREAM.DELETE." + task, nullptr);
    jet_stream.demand("STREAM.CREATE." + task, config);
    EXPECT_THAT([&] { Cluster::connect(server.settings()); },
                unfit(AllOf(HasSubstr(one.key), HasSubstr(one.remedy))));
  }
  jet_stream.demand("STREAM.DELETE." + task, nullptr);
  EXPECT_NO_THROW(Cluster::connect(server.settings()));
  ClusterSettings settings = server.settings();
  settings.replicas = 3;
  EXPECT_THAT([&] { Cluster::connect(settings); },
              unfit(HasSubstr("nats stream edit VCAP_test_TASK --replicas=3")));
  settings.site = "new";
  EXPECT_THAT([&] { Cluster::connect(settings); },
              ThrowsError<ClusterError>(ErrorCode::broker_refused,
                                        HasSubstr("not supported in non-clustered mode")));
  settings.replicas = 6;
  EXPECT_THAT([&] { Cluster::connect(settings); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("0 to 5")));
}

}  // namespace
}  // namespace vcap::test
