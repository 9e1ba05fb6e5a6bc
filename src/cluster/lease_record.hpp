// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vcap/base/clock.hpp"

namespace vcap {

/// What a queue knows about a task that was leased at least once. Thread safety: value.
struct LeaseRecord {
  enum class State {
    leased,
    waiting,    ///< released, or the attempt failed
    giving_up,  ///< all attempts failed; becomes given_up when the task is settled
    done,       ///< kept because an attempt had failed before
    given_up,   ///< all attempts failed
  };

  State state = State::waiting;
  std::uint64_t number = 0;            ///< of the last lease
  Clock::time_point until{};           ///< when that lease runs out
  std::uint64_t place = 0;             ///< tasks are leased in the order of places
  std::vector<std::string> reasons{};  ///< one for each failed attempt

  bool is_leased(Clock::time_point now) const { return state == State::leased && now < until; }
  bool has_run_out(Clock::time_point now) const { return state == State::leased && now >= until; }
};

/// As JSON, "vcap.lease/1".
std::string to_message(const LeaseRecord& record);
/// Throws ClusterError (invalid_message) for other text.
LeaseRecord read_lease(const std::string& message);

}  // namespace vcap
