// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fenv.h>
#include <locale.h>
#include <signal.h>

#include <string>
#include <string_view>

#include "vcap/base/export.hpp"

namespace vcap::detail {

/// What a thread has of its own that code may change: signal mask, locale, floating-point modes.
class ThreadState {
 public:
  ThreadState() noexcept;
  /// Puts back what has changed since, and says what that was: "the rounding mode, ".
  std::string restore() const;

 private:
  fenv_t floating_;
  sigset_t blocked_;
  locale_t locale_;
};

/// Holds, while an author's code runs, what belongs to the host and may not be changed: locale,
/// working directory, umask, what signals do, and the calling thread's modes.
///
/// In the end, what has changed is put back, with one warning in the log that names `subject`.
/// Where guards overlap, on several threads or one within the other, they share the state from
/// before the first: then a change is reported by whichever ends first after it. What the host
/// itself changes meanwhile on another thread cannot be told apart, and is put back too; so it
/// should change these before it loads capsules, or between. Costs some tens of microseconds.
/// Thread safety: made and destroyed by one thread; any number at once.
class VCAP_EXPORT HostGuard {
 public:
  explicit HostGuard(std::string_view subject) noexcept;
  HostGuard(const HostGuard&) = delete;
  HostGuard& operator=(const HostGuard&) = delete;
  ~HostGuard();

 private:
  std::string_view subject_;
  ThreadState thread_;
  bool is_watching_ = false;  ///< not so where memory was short
};

}  // namespace vcap::detail
