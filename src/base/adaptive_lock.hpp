// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "base/relax.hpp"

namespace vcap {

/// Locks a mutex that is only held briefly: tries for about a microsecond before the thread sleeps,
/// because to sleep and be woken costs both sides several microseconds. glibc does the same for
/// PTHREAD_MUTEX_ADAPTIVE_NP; condition variables need a std::mutex.
inline std::unique_lock<std::mutex> adaptive_lock(std::mutex& mutex) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    if (mutex.try_lock()) return {mutex, std::adopt_lock};
    relax();
  }
  return std::unique_lock(mutex);
}

}  // namespace vcap
