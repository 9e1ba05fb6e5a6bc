// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace vcap::cli {

/// Ends the process at once: no destructors, no exit handlers. Async-signal-safe.
[[noreturn]] void leave_now(int exit_code) noexcept;

// A foreign exit is a call of exit(), std::quick_exit(), _exit() or _Exit() by code that is not the
// command's, such as a capsule's. It never gives the exit code that it asked for: the process says
// whose call it was, finishes its outputs as far as possible, and ends with kForeignExit. A direct
// system call and a signal that the process sends itself are not noticed. The caller's thread never
// returns from its call. Children of fork() end as they want. Thread-safe.

/// From now on, foreign exits are noticed. [main]
void begin_watching_exits();
/// Makes the process notice an exit before it destroys static objects of libraries that were loaded
/// meanwhile; called after capsules were loaded.
void renew_exit_watch();
/// From now on, calls of exit() and std::quick_exit() are the command's own. Does not return if
/// there was a foreign exit. [main]
void end_watching_exits() noexcept;
/// Whether there was a foreign exit.
bool has_foreign_exit() noexcept;

/// While it lives: at a foreign exit, `finish` completes the outputs. Not copied. [main]
class FinishAtForeignExit {
 public:
  /// `finish`: [thread that calls exit()]. It may run beside main.
  explicit FinishAtForeignExit(std::function<void()> finish);
  ~FinishAtForeignExit();
  FinishAtForeignExit(const FinishAtForeignExit&) = delete;
  FinishAtForeignExit& operator=(const FinishAtForeignExit&) = delete;
};

/// While it lives, main waits for the end of some work, and is woken by a foreign exit. It then
/// ends the work, finishes the outputs and leaves the process itself, with kForeignExit. Not
/// copied. [main]
class MainEndsAtForeignExit {
 public:
  explicit MainEndsAtForeignExit(std::function<void()> wake);
  ~MainEndsAtForeignExit();
  MainEndsAtForeignExit(const MainEndsAtForeignExit&) = delete;
  MainEndsAtForeignExit& operator=(const MainEndsAtForeignExit&) = delete;
};

}  // namespace vcap::cli
