// SPDX-License-Identifier: Apache-2.0
#include "harness/explore.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "support/choices.hpp"

namespace vcap::model {
namespace {

// A crash must name its schedule too: a failed assertion, an uncaught exception, or access to
// memory that is gone.
extern "C" void tell_story(int signal) {
  std::signal(signal, SIG_DFL);
  if (const Execution* execution = Execution::current())
    std::fprintf(stderr, "signal %d in\n%s\n", signal, execution->story().c_str());
  std::raise(signal);
}

void tell_of_crashes() {
  // The handler has its own stack, because the strand's stack may have overflowed.
  static std::byte stack[64 * 1024];
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  ::sigaltstack(&alternative, nullptr);
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
    struct sigaction action {};
    action.sa_handler = tell_story;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    ::sigaction(signal, &action, nullptr);
  }
}

// Runs all schedules with at most `limits.preemptions` preemptions.
void explore_bound(const Limits& limits, const std::function<void()>& scenario,
                   Exploration& found) {
  Execution execution(limits);
  Choices choices;
  States states;
  found.schedules = found.longest = 0;
  found.ends.clear();
  for (bool more = true; more;) {
    ++found.schedules;
    found.failure = execution.run(scenario, choices, states);
    found.ends.insert(execution.state());
    found.longest = std::max(found.longest, execution.decisions());
    found.states = states.size();
    if (found.failure) return;
    try {
      more = choices.advance();
    } catch (const std::logic_error& error) {
      found.failure = error.what();
      return;
    }
  }
}

std::optional<std::string> play(std::string_view schedule, Limits limits,
                                const std::function<void()>& scenario) {
  limits.preemptions = std::atoi(schedule.data());
  Choices choices(schedule.substr(std::min(schedule.size(), schedule.find(':') + 1)));
  limits.repeats = true;
  States none;
  return Execution(limits).run(scenario, choices, none);
}

}  // namespace

Exploration explore(const Limits& limits, const std::function<void()>& scenario) {
  tell_of_crashes();
  Exploration found;
  Limits bound = limits;
  for (bound.preemptions = 0; bound.preemptions <= limits.preemptions && !found.failure;
       ++bound.preemptions)
    explore_bound(bound, scenario, found);
  return found;
}

void expect_holds(Limits limits, const std::function<void()>& scenario) {
  if (const char* const preemptions = std::getenv("VCAP_MODEL_PREEMPTIONS"))
    limits.preemptions = std::atoi(preemptions);
  if (const char* const schedule = std::getenv("VCAP_MODEL_SCHEDULE")) {
    tell_of_crashes();
    if (const auto failure = play(schedule, limits, scenario)) ADD_FAILURE() << *failure;
    return;
  }
  const auto began = std::chrono::steady_clock::now();
  const Exploration found = explore(limits, scenario);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  if (found.failure) ADD_FAILURE() << "schedule " << found.schedules << ": " << *found.failure;
  std::printf("%zu schedules, %zu states, up to %zu decisions and %d preemptions, in %.1f s\n",
              found.schedules, found.states, found.longest, limits.preemptions, took.count());
}

}  // namespace vcap::model
