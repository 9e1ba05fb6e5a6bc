// SPDX-License-Identifier: Apache-2.0
#include "batching/batch_parking.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <limits>

namespace vcap::detail {
namespace {

// A cache line each. More only means fewer who are woken in vain.
constexpr std::size_t kSpots = 256;
struct alignas(64) Spot {
  BatchParking parking;
};

}  // namespace

BatchParking& BatchParking::spot(std::uint64_t executor, std::uint64_t group) noexcept {
  static std::array<Spot, kSpots> spots;
  return spots[((executor << 32 ^ group) * 0x9E3779B97F4A7C15u >> 32) % kSpots].parking;
}

// wakes_ is read before `open`: a wake in between changes it, and the kernel does not let the
// caller sleep. sleepers_ is counted up before the kernel looks at wakes_, and read after wakes_
// was changed: so whoever sleeps is seen.
void BatchParking::wait(const std::atomic<std::uint32_t>& open) noexcept {
  for (;;) {
    const std::uint32_t wakes = wakes_.load();
    if (open.load(std::memory_order_acquire) != 0) return;
    sleepers_.fetch_add(1);
    ::syscall(SYS_futex, &wakes_, FUTEX_WAIT_PRIVATE, wakes, nullptr, nullptr, 0);
    sleepers_.fetch_sub(1);
  }
}

void BatchParking::wake_all() noexcept {
  wakes_.fetch_add(1);
  if (sleepers_.load() > 0)
    ::syscall(SYS_futex, &wakes_, FUTEX_WAKE_PRIVATE, std::numeric_limits<int>::max(), nullptr,
              nullptr, 0);
}

}  // namespace vcap::detail
