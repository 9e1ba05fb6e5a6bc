// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

namespace vcap {

/// The lock of a mutex that is never held for long: tried for about a microsecond before the thread
/// goes to sleep, since to sleep and be woken costs both sides several. For a std::mutex, which
/// condition variables need, what glibc does for one of type PTHREAD_MUTEX_ADAPTIVE_NP.
inline std::unique_lock<std::mutex> adaptive_lock(std::mutex& mutex) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    if (mutex.try_lock()) return {mutex, std::adopt_lock};
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
  }
  return std::unique_lock(mutex);
}

}  // namespace vcap
