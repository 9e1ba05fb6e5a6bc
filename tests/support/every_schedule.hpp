// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "support/choices.hpp"

namespace vcap::test {

/// One event that may happen next in a scenario.
struct Event {
  bool possible;
  std::function<void()> happen;
};

/// Lets one of the possible events happen, as the schedule says; false if none is possible.
inline bool happens_one_of(Choices& choices, const std::vector<Event>& events) {
  std::vector<const Event*> possible;
  for (const Event& event : events)
    if (event.possible) possible.push_back(&event);
  if (possible.empty()) return false;
  possible[choices.next(possible.size())]->happen();
  return true;
}

/// Runs the scenario once for each schedule of its decisions, until one fails. Returns how many.
inline std::size_t run_every_schedule(const std::function<void(Choices&)>& scenario) {
  Choices choices;
  std::size_t schedules = 0;
  do {
    ++schedules;
    scenario(choices);
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "in the schedule " << choices.text();
      break;
    }
  } while (choices.advance());
  return schedules;
}

}  // namespace vcap::test
