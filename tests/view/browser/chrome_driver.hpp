// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "support/temporary_folder.hpp"

extern char** environ;

namespace vcap::test {

/// Runs chromedriver while it lives, on a free port of the loopback interface. The browser that it
/// starts has this folder as its home. Thread safety: thread-compatible.
class ChromeDriver {
 public:
  ChromeDriver() {
    // It needs the same free port for IPv4 and IPv6, and ends if another process has one of them.
    constexpr int kTries = 10;
    for (int i = 0; i < kTries && port_.empty(); ++i) start();
    if (port_.empty())
      throw std::runtime_error(
          "chromedriver does not start; it is in Debian's packages: apt-get install chromium "
          "chromium-driver. It says: " +
          errors());
  }
  ChromeDriver(const ChromeDriver&) = delete;
  ChromeDriver& operator=(const ChromeDriver&) = delete;
  ~ChromeDriver() { end(); }

  std::string url() const { return "http://127.0.0.1:" + port_; }
  const TemporaryFolder& home() const noexcept { return home_; }
  /// What driver and browser have written to their standard error.
  std::string errors() const { return read_file(home_ / "errors.txt"); }

 private:
  void start() {
    std::array<int, 2> from{};
    if (::pipe2(from.data(), O_CLOEXEC) != 0)
      throw std::system_error(errno, std::generic_category(), "pipe2");
    const int failed = spawn(from[1]);
    ::close(from[1]);
    if (failed == 0) port_ = read_port(from[0]);
    output_ = from[0];  // open until the end: the driver must be able to write
    if (port_.empty()) end();
  }

  int spawn(int output) {
    const std::string errors = home_ / "errors.txt";
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0600);
    std::vector<std::string> variables = {"HOME=" + home_.path().native(),
                                          "TMPDIR=" + home_.path().native()};
    for (char** one = environ; *one != nullptr; ++one) {
      const std::string variable = *one;
      if (!variable.starts_with("HOME=") && !variable.starts_with("TMPDIR=") &&
          !variable.starts_with("XDG_"))
        variables.push_back(variable);
    }
    std::vector<char*> environment;
    for (std::string& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
    std::array<std::string, 2> words{"chromedriver", "--port=0"};
    std::array<char*, 3> arguments{words[0].data(), words[1].data(), nullptr};
    const int failed = ::posix_spawnp(&process_, arguments[0], &actions, nullptr, arguments.data(),
                                      environment.data());
    ::posix_spawn_file_actions_destroy(&actions);
    return failed;
  }

  /// The port that the driver prints; empty if it ends before.
  static std::string read_port(int output) {
    const std::string words = "successfully on port ";
    std::string text;
    char byte = 0;
    while (::read(output, &byte, 1) == 1) {
      text += byte;
      const std::size_t at = text.find(words);
      if (byte == '\n' && at != std::string::npos)
        return text.substr(
            at + words.size(),
            text.find_first_not_of("0123456789", at + words.size()) - at - words.size());
    }
    return {};
  }

  /// The browser has ended before (Browser). The driver gets some seconds, for its own children.
  void end() {
    if (process_ > 0) {
      ::kill(process_, SIGTERM);
      for (int i = 0; ::waitpid(process_, nullptr, WNOHANG) == 0; ++i) {
        if (i == 500) ::kill(process_, SIGKILL);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      process_ = -1;
    }
    if (output_ >= 0) ::close(output_);
    output_ = -1;
  }

  TemporaryFolder home_;
  std::string port_;
  pid_t process_ = -1;
  int output_ = -1;
};

}  // namespace vcap::test
