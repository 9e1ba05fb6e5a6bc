// SPDX-License-Identifier: Apache-2.0
#include "support/bare_timer.hpp"

#include <condition_variable>
#include <mutex>

double vcap::bench::bare_timer(std::chrono::steady_clock::time_point time) {
  std::mutex mutex;
  std::condition_variable condition;
  std::unique_lock lock(mutex);
  while (condition.wait_until(lock, time) != std::cv_status::timeout) {
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - time).count();
}
