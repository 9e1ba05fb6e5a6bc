// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <unordered_set>

#include "harness/execution.hpp"

namespace vcap::model {

/// What a search has found.
struct Exploration {
  std::size_t schedules = 0;                 ///< that were run with the most preemptions
  std::size_t states = 0;                    ///< in which they had a choice
  std::unordered_set<std::uint64_t> ends{};  ///< the states that they came to
  std::size_t longest = 0;                   ///< decisions in one of them
  std::optional<std::string>
      failure{};  ///< of the first that went wrong, with the fewest preemptions
};

/// Runs the scenario under every schedule within the limits, but for those that differ from another
/// in what nobody could tell; those with fewer preemptions first, until one goes wrong. The
/// scenario depends on nothing but its schedule.
Exploration explore(const Limits& limits, const std::function<void()>& scenario);

/// Explores, says how many schedules there are, and fails the current test where one goes wrong.
/// In the environment, VCAP_MODEL_PREEMPTIONS is another limit of them, and VCAP_MODEL_SCHEDULE, as
/// a failure names it, plays that schedule alone.
void expect_holds(Limits limits, const std::function<void()>& scenario);

}  // namespace vcap::model
