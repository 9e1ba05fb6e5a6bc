// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "cli/stop_signal.hpp"
#include "vcap/base/clock.hpp"

namespace vcap::cli {

/// How a command that has not begun its work ends.
struct Starting {
  StopSignal& stop;
  Clock::duration grace;         ///< as in Ending
  std::function<void()> drop{};  ///< removes outputs before the process is left [main]
};

/// Does a step of a command's start in a thread of its own, and returns when it has ended. If it
/// hangs and the process is to end, or if it ends the process, calls `drop` and leaves the process.
/// `name`: such as "loading capsule people" [main]. Rethrows exceptions of `work`.
void do_start_step(const std::function<void()>& work, const std::function<std::string()>& name,
                   const Starting& starting);

}  // namespace vcap::cli
