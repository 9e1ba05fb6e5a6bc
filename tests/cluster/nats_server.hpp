// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "support/bounded_wait.hpp"
#include "support/http_get.hpp"
#include "support/loopback_port.hpp"
#include "support/temporary_folder.hpp"
#include "vcap/cluster/cluster.hpp"

extern char** environ;

namespace vcap::test {

/// A nats-server with JetStream on a port of 127.0.0.1, which a test kills and starts again.
class NatsServer {
 public:
  /// `more`: further lines of its configuration.
  explicit NatsServer(std::string more = {}) : more_(std::move(more)), port_(free_port()) {
    start();
  }
  NatsServer(const NatsServer&) = delete;
  NatsServer& operator=(const NatsServer&) = delete;
  ~NatsServer() { kill(); }

  std::string url() const { return "nats://127.0.0.1:" + std::to_string(port_); }
  std::uint16_t port() const { return port_; }
  ClusterSettings settings() const { return {.url = url(), .site = "test"}; }

  void start() {
    folder_.write("nats.conf", "host: 127.0.0.1\nport: " + std::to_string(port_) +
                                   "\njetstream { store_dir: \"" + (folder_ / "js").string() +
                                   "\" }\n" + more_);
    std::vector<std::string> words{"nats-server", "-c", (folder_ / "nats.conf").string()};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    const std::string log = (folder_ / "log").string();
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0600);
    const int failed = ::posix_spawn(&process_, "/usr/sbin/nats-server", &actions, nullptr,
                                     arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::system_error(failed, std::generic_category(), "nats-server");
    yield_until("nats-server to listen", [this] {
      try {
        const LoopbackConnection connection(port_);
        return true;
      } catch (const std::system_error&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return false;
      }
    });
  }
  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
  }
  /// It neither reads nor answers until resume().
  void hang() const { ::kill(process_, SIGSTOP); }
  void resume() const { ::kill(process_, SIGCONT); }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  const TemporaryFolder folder_;
  const std::string more_;
  const std::uint16_t port_;
  pid_t process_ = -1;
};

}  // namespace vcap::test
