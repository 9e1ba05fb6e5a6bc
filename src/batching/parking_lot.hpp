// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace vcap::detail {

/// A place where blocked callers sleep. Callers that are likely to share a batch share a spot, so
/// that one system call wakes them all; a caller woken in vain sleeps again. Spots are never
/// destroyed: a caller may start to sleep after its executor has answered and is destroyed. Thread
/// safety: thread-safe.
class alignas(64) ParkingLot {  // a cache line each
 public:
  /// One of a fixed number of spots for all executors. Callers with equal arguments share a spot;
  /// others may share it too.
  static ParkingLot& spot(std::uint64_t executor, std::uint64_t group) noexcept;

  /// Sleeps until `open` is not 0.
  void wait(const std::atomic<std::uint32_t>& open) noexcept;
  /// Wakes all sleepers, after the values that they wait for were set.
  void wake_all() noexcept;

  /// Wakes one thread in its destructor. That thread wakes the others at its spot, and one at the
  /// next spot. For a thread with other work, because each thread that it wakes could take its
  /// processor.
  class Chain {
   public:
    Chain() = default;
    ~Chain();
    Chain(const Chain&) = delete;
    Chain& operator=(const Chain&) = delete;
    /// Call it after setting the values that all sleepers at that spot wait for.
    void add(ParkingLot& spot) noexcept;

   private:
    ParkingLot* first_ = nullptr;  ///< leads to the others by next_
  };

 private:
  static void wake(ParkingLot* first) noexcept;
  bool wake_one() noexcept;
  ParkingLot* take_next() noexcept;
  void pass_on() noexcept;

  std::atomic<std::uint32_t> wakes_{0};
  std::atomic<std::uint32_t> sleepers_{0};
  // Tasks for any thread that wakes up here, before anything else.
  std::atomic<std::uint32_t> others_{0};  ///< 1: wake those that sleep here
  std::atomic<std::uint32_t> next_{0};    ///< wake one at this spot: its index, from 1
};

}  // namespace vcap::detail
