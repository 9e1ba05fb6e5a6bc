// SPDX-License-Identifier: Apache-2.0
#include "cli/watch.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <thread>

#include "cli/console.hpp"
#include "cli/ending.hpp"
#include "cli/foreign_exit.hpp"

namespace vcap::cli {
namespace {

constexpr std::chrono::milliseconds kProgressInterval{250};

void act(Ending::Step step, const Ending& ending, const Watch& watch) {
  switch (step) {
    case Ending::Step::stop:
      return watch.on_stop();
    case Ending::Step::give_up:
      return watch.on_overdue(ending.age());
    case Ending::Step::leave:
      return watch.on_leave();
    case Ending::Step::wait:
      return;
  }
}

void show_until(const std::atomic<bool>& ended, StopSignal& stop, const Watch& watch) {
  const auto begin = std::chrono::steady_clock::now();
  Console& console = Console::shared();
  Ending ending(watch.grace);
  while (!ended) {
    const auto now = std::chrono::steady_clock::now();
    const Ending::Step step = ending.next(now, stop.count(), has_foreign_exit());
    act(step, ending, watch);
    if (step != Ending::Step::wait) continue;
    console.progress(watch.progress(now - begin));
    std::optional<Clock::time_point> until = ending.wakes_at();
    if (console.is_terminal())
      until = std::min(until.value_or(Clock::time_point::max()), now + kProgressInterval);
    stop.wait_until(until);
  }
}

}  // namespace

void watch_over(const std::function<void()>& work, StopSignal& stop, const Watch& watch) {
  std::atomic<bool> ended = false;
  std::exception_ptr failure;
  {
    const MainEndsAtForeignExit waiting([&stop] { stop.wake(); });
    const std::jthread working([&] {
      try {
        work();
      } catch (...) {
        failure = std::current_exception();
      }
      ended = true;
      stop.wake();
    });
    show_until(ended, stop, watch);
  }
  Console::shared().end_progress();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace vcap::cli
