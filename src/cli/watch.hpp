// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "cli/stop_signal.hpp"

namespace vcap::cli {

/// What is done while a command's work goes on.
struct Watch {
  std::function<void()> on_stop{};  ///< when `stop` is raised; to make the work end soon
  /// What the progress line says after so long.
  std::function<std::string(std::chrono::duration<double>)> progress{};
};

/// Does the work on a thread of its own, shows progress on a terminal, and comes back when it has
/// ended. Throws what it throws.
void watch_over(const std::function<void()>& work, StopSignal& stop, const Watch& watch);

}  // namespace vcap::cli
