// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "support/bounded_wait.hpp"
#include "support/http_get.hpp"

extern char** environ;

namespace vcap::test {

/// A server of another project that listens on a port of 127.0.0.1. The destructor kills it.
class ServerProcess {
 public:
  ServerProcess() = default;
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess() { kill(); }

  /// Runs the program (the first word, a path), and returns when it listens. Its output is appended
  /// to the file `log`, in whose folder it runs: nats-server (2.9) sometimes leaves files of a
  /// deleted consumer in its working folder.
  void start(std::vector<std::string> words, std::uint16_t port, const std::string& log) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO})
      ::posix_spawn_file_actions_addopen(&actions, descriptor, log.c_str(),
                                         O_WRONLY | O_CREAT | O_APPEND, 0600);
    const std::string folder = log.substr(0, log.rfind('/') + 1);
    if (!folder.empty()) ::posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
    const int failed = ::posix_spawn(&process_, words.front().c_str(), &actions, nullptr,
                                     arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::system_error(failed, std::generic_category(), words.front());
    yield_until(words.front() + " to listen", [port] {
      try {
        const LoopbackConnection connection(port);
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
  /// It neither reads nor answers until resume(), or until it is killed.
  /// Returns when all of its threads have stopped.
  void hang() const {
    siginfo_t stopped{};
    ::kill(process_, SIGSTOP);
    ::waitid(P_PID, static_cast<id_t>(process_), &stopped, WSTOPPED | WEXITED | WNOWAIT);
  }
  void resume() const { ::kill(process_, SIGCONT); }

 private:
  pid_t process_ = -1;
};

}  // namespace vcap::test
