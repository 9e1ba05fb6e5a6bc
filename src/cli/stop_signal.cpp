// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signal.hpp"

#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <utility>

#include "cli/exit_code.hpp"
#include "cli/foreign_exit.hpp"
#include "cli/signal_count.hpp"

namespace vcap::cli {
namespace {

// A signal handler sees only globals, and may use only what is async-signal-safe.
SignalCount signals_seen;
sem_t wake_ups;
std::atomic<const std::string*> farewell = nullptr;
static_assert(std::atomic<const std::string*>::is_always_lock_free);

timespec to_timespec(std::chrono::nanoseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  return {.tv_sec = static_cast<time_t>(seconds.count()),
          .tv_nsec = static_cast<long>((time - seconds).count())};
}

void on_signal(int) {
  const int saved_errno = errno;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const int count = signals_seen.add(std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec);
  if (count > 2) {
    if (const std::string* const lines = farewell) {
      [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, lines->data(), lines->size());
    }
    leave_now(kKilled);
  }
  if (count > 0) ::sem_post(&wake_ups);
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

StopSignal::StopSignal() {
  signals_seen.reset();
  ::sem_init(&wake_ups, 0, 0);  // fails only for values that are too large
  install(SIGINT, before_int_);
  install(SIGTERM, before_term_);
  // For the rest of the process: a write to a pipe whose reader has gone, or beyond the allowed
  // size of a file, fails and is reported, and the other files are finished.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

StopSignal::~StopSignal() {
  ::sigaction(SIGINT, &before_int_, nullptr);
  ::sigaction(SIGTERM, &before_term_, nullptr);
  farewell = nullptr;
}

int StopSignal::count() const noexcept { return signals_seen.count(); }

void StopSignal::wait_until(std::optional<Clock::time_point> time) noexcept {
  if (time) {
    // The epoch of std::chrono::steady_clock is that of CLOCK_MONOTONIC.
    const timespec until = to_timespec(time->time_since_epoch());
    ::sem_clockwait(&wake_ups, CLOCK_MONOTONIC, &until);
  } else {
    ::sem_wait(&wake_ups);
  }
  while (::sem_trywait(&wake_ups) == 0) {
  }
}

void StopSignal::wake() noexcept { ::sem_post(&wake_ups); }

void StopSignal::set_farewell(std::string lines) {
  farewells_.push_back(std::make_unique<const std::string>(std::move(lines)));
  farewell = farewells_.back().get();
}

}  // namespace vcap::cli
