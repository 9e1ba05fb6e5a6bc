// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vcap {

/// Tells the processor that the thread is waiting in a loop.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace vcap
