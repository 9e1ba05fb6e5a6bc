// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "cli/stop_signal.hpp"

namespace vcap::cli {

/// Callbacks during a command's work.
struct Watch {
  std::function<void()> on_stop{};  ///< when `stop` is raised; must make the work end soon
  /// The text of the progress line after this time.
  std::function<std::string(std::chrono::duration<double>)> progress{};
};

/// Does the work on its own thread, shows progress on a terminal, and returns when the work has
/// ended. Rethrows its exception.
void watch_over(const std::function<void()>& work, StopSignal& stop, const Watch& watch);

}  // namespace vcap::cli
