// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "cli/stop_signal.hpp"
#include "vcap/base/clock.hpp"

namespace vcap::cli {

/// Callbacks during a command's work. [main]
struct Watch {
  /// Once, at the first signal or at a foreign exit; must make the work end soon.
  std::function<void()> on_stop{};
  /// If the work has not ended after the grace, or at a second signal; perhaps several times. Gives
  /// up what has lasted for at least `age`.
  std::function<void(Clock::duration age)> on_overdue{};
  /// If the work has still not ended. Completes what it can and leaves the process.
  std::function<void()> on_leave{};
  /// The text of the progress line after this time.
  std::function<std::string(std::chrono::duration<double>)> progress{};
  Clock::duration grace = std::chrono::seconds(10);  ///< as in Ending
};

/// Does the work on its own thread, shows progress on a terminal, and returns when the work has
/// ended. Rethrows its exception. At a foreign exit, the caller must finish the outputs, and leave
/// the process with kForeignExit.
void watch_over(const std::function<void()>& work, StopSignal& stop, const Watch& watch);

}  // namespace vcap::cli
