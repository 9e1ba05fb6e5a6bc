// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

namespace vcap {

/// Tells the processor that the thread is waiting in a loop.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/// Locks a mutex that is only held briefly: tries for about a microsecond before the thread sleeps,
/// because sleeping and being woken costs both threads several microseconds. glibc does the same
/// for PTHREAD_MUTEX_ADAPTIVE_NP; condition variables need a std::mutex.
inline std::unique_lock<std::mutex> adaptive_lock(std::mutex& mutex) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    if (mutex.try_lock()) return {mutex, std::adopt_lock};
    relax();
  }
  return std::unique_lock(mutex);
}

}  // namespace vcap
