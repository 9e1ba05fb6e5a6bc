// SPDX-License-Identifier: Apache-2.0
#include "cli/start_step.hpp"

#include <chrono>

#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "cli/foreign_exit.hpp"
#include "cli/watch.hpp"

namespace vcap::cli {

void do_start_step(const std::function<void()>& work, const std::function<std::string()>& name,
                   const Starting& starting) {
  const auto leave = [&] {
    if (!has_foreign_exit())
      Console::shared().line("vcap: " + name() + " does not end; the run is left before its start");
    starting.drop();
    leave_now(has_foreign_exit() ? kForeignExit : kHung);
  };
  watch_over(work, starting.stop,
             {.on_stop =
                  [&] {
                    if (starting.stop.raised())
                      Console::shared().line("vcap: stopping, once " + name() + " has ended");
                  },
              .on_overdue = [&](Clock::duration) { leave(); },
              .on_leave = leave,
              .progress = [&](std::chrono::duration<double>) { return name(); },
              .grace = starting.grace});
  if (has_foreign_exit()) leave();
}

}  // namespace vcap::cli
