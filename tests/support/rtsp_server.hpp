// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "support/paths.hpp"

extern char** environ;

namespace vcap::test {

/// Runs tests/support/rtsp_server.py while it lives: an RTSP camera on this machine's loopback.
/// Thread safety: as its functions say. Create and destroy it on one thread, which must outlive it.
class RtspServer {
 public:
  /// `port`: "0" chooses a free one. `clip`: a Matroska file of H.264, served at path "clip"; it
  /// begins with the first client that requests it.
  explicit RtspServer(const std::string& port = "0", const std::string& clip = {}) {
    std::array<int, 2> from{};
    if (::pipe2(from.data(), O_CLOEXEC) != 0)
      throw std::system_error(errno, std::generic_category());
    spawn(port, clip, from[1]);
    ::close(from[1]);
    char byte = 0;
    while (::read(from[0], &byte, 1) == 1 && byte != '\n') port_ += byte;
    ::close(from[0]);
    if (!port_.empty()) return;
    end();
    throw std::runtime_error("/usr/bin/python3 could not run " +
                             test::in_sources("tests/support/rtsp_server.py"));
  }
  RtspServer(const RtspServer&) = delete;
  RtspServer& operator=(const RtspServer&) = delete;
  ~RtspServer() { end(); }

  const std::string& port() const { return port_; }
  /// The URL with a user and a password, which the server does not check.
  std::string url(const std::string& path = "live") const {
    return "rtsp://joe:secret@127.0.0.1:" + port_ + "/" + path;
  }

  /// False if the process has ended by itself.
  bool runs() const {
    siginfo_t ended{};
    return ::waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0;
  }
  /// Keeps its connections and sends nothing more. [any thread]
  void freeze() const { ::kill(process_, SIGSTOP); }
  /// Continues after freeze(). [any thread]
  void thaw() const { ::kill(process_, SIGCONT); }

 private:
  void spawn(const std::string& port, const std::string& clip, int output) {
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    // Debian's own Python, which has the bindings of GStreamer.
    std::array<std::string, 5> words{"/usr/bin/python3", "-I",
                                     test::in_sources("tests/support/rtsp_server.py"), port, clip};
    std::array<char*, 6> arguments{};
    for (std::size_t i = 0; i < words.size() && !words[i].empty(); ++i)
      arguments[i] = words[i].data();
    const int failed =
        ::posix_spawn(&process_, arguments[0], &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::system_error(failed, std::generic_category(), arguments[0]);
  }

  void end() const {
    ::kill(process_, SIGKILL);  // also ends a frozen server
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  std::string port_;
  pid_t process_ = -1;
};

}  // namespace vcap::test
