// SPDX-License-Identifier: Apache-2.0
#include "vcap/batching/batch_clock.hpp"

#include "batching/steady_batch_clock.hpp"

namespace vcap {

BatchClock::~BatchClock() = default;

namespace detail {

BatchClock::time_point SteadyBatchClock::now() const noexcept {
  return std::chrono::steady_clock::now();
}

void SteadyBatchClock::wait_until(std::condition_variable& condition,
                                  std::unique_lock<std::mutex>& lock, time_point time) {
  condition.wait_until(lock, time);
}

}  // namespace detail
}  // namespace vcap
