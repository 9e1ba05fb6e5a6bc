// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vcap/base/clock.hpp"

namespace vcap::cli {

/// Counts Ctrl-C (SIGINT) and SIGTERM, and wakes the thread that waits for them. The third one ends
/// the process at once, with exit code kKilled. Signals within a second of the last one that counts
/// do not count (SignalCount). A process may have one at a time.
///
/// Needs no file descriptor, since other code in the process might close it. A signal that was
/// ignored when the process started, as shells do for background jobs, stays ignored. Thread
/// safety: thread-safe, except that one thread waits.
class StopSignal {
 public:
  StopSignal();
  /// Restores the signals' earlier actions.
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// How many signals count.
  int count() const noexcept;
  bool raised() const noexcept { return count() > 0; }
  /// Returns after the next signal or wake(), or at that time; at once if one came since the last
  /// return. May return early.
  void wait_until(std::optional<Clock::time_point> time) noexcept;
  /// Ends wait_until().
  void wake() noexcept;
  /// What the third signal writes to standard error before it ends the process: whole lines.
  void set_farewell(std::string lines);

 private:
  struct sigaction before_int_ {};
  struct sigaction before_term_ {};
  /// A signal may be using any of them.
  std::vector<std::unique_ptr<const std::string>> farewells_{};
};

}  // namespace vcap::cli
