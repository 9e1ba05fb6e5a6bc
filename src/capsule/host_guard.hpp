// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fenv.h>
#include <locale.h>
#include <signal.h>

#include <string>
#include <string_view>

#include "capsule/current_capsule.hpp"

namespace vcap::detail {

/// Per-thread state that code may change: signal mask, locale, floating-point modes.
class ThreadState {
 public:
  ThreadState() noexcept;
  /// Restores what has changed since, and says what that was: "the floating-point modes, ".
  std::string restore() const;

 private:
  fenv_t floating_;
  sigset_t blocked_;
  locale_t locale_;
};

/// The part of a HostGuard that belongs to the calling thread, for code that runs in another thread
/// than the one that has the HostGuard. Thread safety: belongs to one thread.
class ThreadGuard {
 public:
  explicit ThreadGuard(std::string_view subject) noexcept : subject_(subject) {}
  ThreadGuard(const ThreadGuard&) = delete;
  ThreadGuard& operator=(const ThreadGuard&) = delete;
  ~ThreadGuard();

 private:
  const std::string_view subject_;
  const ThreadState before_{};
};

/// Protects, while an author's code runs, process state that belongs to the host: locale, working
/// directory, umask, signal actions, and the calling thread's modes. Sets current_capsule(), too.
///
/// The destructor restores what has changed, and logs one warning that names `subject`. Guards that
/// overlap, on several threads or nested on one, share the state from before the first guard. Then
/// the guard that ends first after a change reports it. It cannot distinguish changes that the host
/// itself makes meanwhile on another thread, and restores those too; so the host should change
/// these before it loads capsules, or between. Costs some tens of microseconds. Thread safety: one
/// thread makes and destroys it; any number may exist at once.
class HostGuard {
 public:
  explicit HostGuard(std::string_view subject) noexcept;
  HostGuard(const HostGuard&) = delete;
  HostGuard& operator=(const HostGuard&) = delete;
  ~HostGuard();

 private:
  std::string_view subject_;
  CurrentCapsule current_;
  ThreadState thread_;
  bool is_watching_ = false;  ///< false if memory was short
};

}  // namespace vcap::detail
