// SPDX-License-Identifier: Apache-2.0
#include "batching/thread_time.hpp"

#include <time.h>

#include <chrono>

namespace vcap::detail {

Clock::duration thread_time() noexcept {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace vcap::detail
