// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signal.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "cli/exit_code.hpp"

namespace vcap::cli {
namespace {

// A signal handler sees only globals; these are lock-free, as it requires.
std::atomic<int> signal_descriptor = -1;
std::atomic<int> signals_seen = 0;

void on_signal(int) {
  const int saved_errno = errno;
  if (signals_seen.fetch_add(1) > 0) ::_exit(kKilled);
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(signal_descriptor, &one, sizeof one);
  errno = saved_errno;
}

void install(int signal, struct sigaction& before) {
  ::sigaction(signal, nullptr, &before);
  if (before.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;  // no read or write of any thread may fail because of the signal
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (descriptor_ < 0)
    throw std::system_error(errno, std::generic_category(), "cannot listen for Ctrl-C");
  signals_seen = 0;
  signal_descriptor = descriptor_;
  install(SIGINT, before_int_);
  install(SIGTERM, before_term_);
  // For the rest of the process: a write to a pipe whose reader has gone fails and is reported, and
  // unfinished files are removed.
  ::signal(SIGPIPE, SIG_IGN);
}

StopSignal::~StopSignal() {
  ::sigaction(SIGINT, &before_int_, nullptr);
  ::sigaction(SIGTERM, &before_term_, nullptr);
  signal_descriptor = -1;
  ::close(descriptor_);
}

bool StopSignal::raised() const noexcept { return signals_seen > 0; }

}  // namespace vcap::cli
