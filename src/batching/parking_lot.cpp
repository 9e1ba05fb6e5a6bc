// SPDX-License-Identifier: Apache-2.0
#include "batching/parking_lot.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <limits>

namespace vcap::detail {
namespace {

// More spots only mean fewer threads woken in vain.
constexpr std::size_t kSpots = 256;

std::array<ParkingLot, kSpots>& spots() noexcept {
  static std::array<ParkingLot, kSpots> all;
  return all;
}

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) noexcept {
  return ::syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

}  // namespace

ParkingLot& ParkingLot::spot(std::uint64_t executor, std::uint64_t group) noexcept {
  return spots()[((executor << 32 ^ group) * 0x9E3779B97F4A7C15u >> 32) % kSpots];
}

// wakes_ is read before `open`: a wake in between changes it, and the kernel does not let the
// caller sleep. sleepers_ is incremented before the kernel looks at wakes_, and read after wakes_
// was changed. So a wake sees every sleeper.
void ParkingLot::wait(const std::atomic<std::uint32_t>& open) noexcept {
  for (;;) {
    const std::uint32_t wakes = wakes_.load();
    if (open.load(std::memory_order_acquire) != 0) return;
    sleepers_.fetch_add(1);
    futex(wakes_, FUTEX_WAIT_PRIVATE, wakes);
    sleepers_.fetch_sub(1);
    pass_on();
  }
}

void ParkingLot::wake_all() noexcept {
  wakes_.fetch_add(1);
  if (sleepers_.load() > 0) futex(wakes_, FUTEX_WAKE_PRIVATE, std::numeric_limits<int>::max());
}

// The tasks of this spot (next_, others_) are stored before the wake. Any thread that wakes up here
// does them, even if it was woken in vain or for another call. So they are done once any thread has
// woken.
void ParkingLot::pass_on() noexcept {
  ParkingLot* next = take_next();
  if (next) wake(next);
  if (others_.load() != 0 && others_.exchange(0) != 0 && sleepers_.load() > 0)
    futex(wakes_, FUTEX_WAKE_PRIVATE, std::numeric_limits<int>::max());
}

// If no thread sleeps at a spot, goes on to the next spot, because no thread there can do it.
void ParkingLot::wake(ParkingLot* first) noexcept {
  for (ParkingLot* spot = first; spot && !spot->wake_one();) spot = spot->take_next();
}

bool ParkingLot::wake_one() noexcept {
  wakes_.fetch_add(1);
  if (sleepers_.load() == 0) return false;
  // Set even if there was only one sleeper: the kernel may wake a thread that came later.
  others_.store(1);
  return futex(wakes_, FUTEX_WAKE_PRIVATE, 1) > 0;
}

ParkingLot* ParkingLot::take_next() noexcept {
  if (next_.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::uint32_t next = next_.exchange(0);
  return next == 0 ? nullptr : &spots()[next - 1];
}

// Each spot's next_ leads to the spots added before it, which are complete. So the chain may be
// followed at any time.
void ParkingLot::Chain::add(ParkingLot& spot) noexcept {
  if (!first_) {
    first_ = &spot;
    return;
  }
  std::uint32_t none = 0;
  const auto place = first_ - spots().data() + 1;
  if (spot.next_.compare_exchange_strong(none, static_cast<std::uint32_t>(place)))
    first_ = &spot;
  else
    wake(&spot);  // its next_ is already in use
}

ParkingLot::Chain::~Chain() { wake(first_); }

}  // namespace vcap::detail
