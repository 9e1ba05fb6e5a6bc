// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <unordered_set>

#include "harness/execution.hpp"

namespace vcap::model {

/// The result of a search.
struct Exploration {
  std::size_t schedules = 0;                 ///< runs with the most preemptions
  std::size_t states = 0;                    ///< states in which they had a choice
  std::unordered_set<std::uint64_t> ends{};  ///< the states that they ended in
  std::size_t longest = 0;                   ///< most decisions in one of them
  std::optional<std::string>
      failure{};  ///< of the first that went wrong, with the fewest preemptions
};

/// Runs the scenario under every schedule within the limits, until one fails. Schedules with fewer
/// preemptions come first. It skips schedules without a visible difference from another one. The
/// scenario must depend on nothing but its schedule.
Exploration explore(const Limits& limits, const std::function<void()>& scenario);

/// Explores, prints how many schedules there are, and fails the current test if one fails. The
/// environment variable VCAP_MODEL_PREEMPTIONS sets another limit of preemptions.
/// VCAP_MODEL_SCHEDULE, as a failure prints it, plays only that schedule.
void expect_holds(Limits limits, const std::function<void()>& scenario);

}  // namespace vcap::model
