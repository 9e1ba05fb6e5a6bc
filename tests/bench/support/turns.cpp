// SPDX-License-Identifier: Apache-2.0
#include "support/turns.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include <sys/pidfd.h>
}

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace vcap::bench {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTurn{500};

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// A process that runs only in its turns. It has a process group with its children.
class TurnProcess {
 public:
  explicit TurnProcess(const std::function<void()>& run) : id_(::fork()) {
    if (id_ < 0) fail("fork");
    if (id_ == 0) work(run);
    ::setpgid(id_, id_);  // the child does it too; the first call counts
    int status = 0;
    const bool has_waited = ::waitpid(id_, &status, WUNTRACED) == id_;
    descriptor_ = has_waited && WIFSTOPPED(status) ? ::pidfd_open(id_, 0) : -1;
    if (descriptor_ >= 0) return;
    end();
    throw std::runtime_error("no process could be started and stopped");
  }
  ~TurnProcess() {
    if (!ended_) end();
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  TurnProcess(const TurnProcess&) = delete;
  TurnProcess& operator=(const TurnProcess&) = delete;

  bool ended() const noexcept { return ended_; }
  double seconds() const noexcept { return std::chrono::duration<double>(took_).count(); }

  void take_turn() {
    const auto begin = steady_clock::now();
    ::kill(-id_, SIGCONT);
    pollfd end{.fd = descriptor_, .events = POLLIN, .revents = 0};
    const int ends = ::poll(&end, 1, static_cast<int>(kTurn.count()));
    if (ends < 0) fail("poll");
    if (ends == 0) ::kill(-id_, SIGSTOP);
    took_ += steady_clock::now() - begin;
    if (ends == 0) return;
    int status = 0;
    if (::waitpid(id_, &status, 0) != id_) fail("waitpid");
    ended_ = true;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      throw std::runtime_error("what was measured failed; see above");
  }

 private:
  void end() const {
    ::kill(-id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }

  [[noreturn]] static void work(const std::function<void()>& run) {
    ::setpgid(0, 0);
    ::raise(SIGSTOP);
    int code = 0;
    try {
      run();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      code = 1;
    }
    ::_exit(code);  // does not run the parent's exit handlers
  }

  const pid_t id_;
  int descriptor_ = -1;
  bool ended_ = false;
  steady_clock::duration took_{0};
};

}  // namespace

std::vector<double> seconds_in_turns(const std::vector<std::function<void()>>& runs) {
  std::vector<std::unique_ptr<TurnProcess>> processes;
  for (const auto& run : runs) processes.push_back(std::make_unique<TurnProcess>(run));
  for (bool all_ended = false; !all_ended;) {
    all_ended = true;
    for (const auto& process : processes) {
      if (process->ended()) continue;
      process->take_turn();
      all_ended = all_ended && process->ended();
    }
  }
  std::vector<double> seconds;
  for (const auto& process : processes) seconds.push_back(process->seconds());
  return seconds;
}

}  // namespace vcap::bench
