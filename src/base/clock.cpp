// SPDX-License-Identifier: Apache-2.0
#include "vcap/base/clock.hpp"

#include "base/steady_clock.hpp"

namespace vcap {

Clock::~Clock() = default;

namespace detail {

Clock::time_point SteadyClock::now() const noexcept { return std::chrono::steady_clock::now(); }

void SteadyClock::wait_until(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
                             time_point time) {
  condition.wait_until(lock, time);
}

}  // namespace detail
}  // namespace vcap
