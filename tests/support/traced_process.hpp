// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <stdexcept>

namespace vcap::test {

/// Executes `run` in a child process and stops it before each of its system calls, so that a test
/// sees every state in which the run could be interrupted. `goes_on` gets the number of the call,
/// from 1. If it returns false, the child is killed there (SIGKILL), and the result is false.
/// Throws std::runtime_error if the run fails, or if this machine does not allow tracing.
inline bool run_by_system_calls(const std::function<void()>& run,
                                const std::function<bool(long call)>& goes_on) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(2);
    ::raise(SIGSTOP);
    try {
      run();
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  const auto has_stopped = [&] {
    if (::waitpid(child, &status, 0) != child) throw std::runtime_error("no child process");
    return WIFSTOPPED(status);
  };
  if (!has_stopped()) throw std::runtime_error("no process can be traced here");
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
  for (long stops = 0; ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr), has_stopped();) {
    // There is one stop at the begin of a call, and one at its end.
    if (WSTOPSIG(status) != (SIGTRAP | 0x80) || ++stops % 2 == 0 || goes_on((stops + 1) / 2))
      continue;
    ::kill(child, SIGKILL);
    while (has_stopped()) {
    }
    return false;
  }
  if (status != 0) throw std::runtime_error("the run in a child process failed");
  return true;
}

}  // namespace vcap::test
