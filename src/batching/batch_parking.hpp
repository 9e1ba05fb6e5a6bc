// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace vcap::detail {

/// Where blocked callers sleep. Those that are likely to share a batch share a spot, so that one
/// system call wakes them all; whoever is woken in vain goes back to sleep. Spots are never
/// destroyed: a caller may come to sleep at one when its executor, having answered, is gone.
/// Thread safety: thread-safe.
class alignas(64) BatchParking {  // a cache line each
 public:
  /// One of few for all executors. Callers with equal arguments share it, others may.
  static BatchParking& spot(std::uint64_t executor, std::uint64_t group) noexcept;

  /// Sleeps until `open` is not 0.
  void wait(const std::atomic<std::uint32_t>& open) noexcept;
  /// Wakes all who sleep here, after what they wait for was set.
  void wake_all() noexcept;

  /// Wakes one, when it is destroyed, who wakes the others at its spot and one at the next: for a
  /// thread that has other things to do, as each that it wakes could take its processor.
  class Chain {
   public:
    Chain() = default;
    ~Chain();
    Chain(const Chain&) = delete;
    Chain& operator=(const Chain&) = delete;
    /// After what all who sleep at that spot wait for was set.
    void add(BatchParking& spot) noexcept;

   private:
    BatchParking* first_ = nullptr;  ///< leads to the others by next_
  };

 private:
  static void wake(BatchParking* first) noexcept;
  bool wake_one() noexcept;
  BatchParking* take_next() noexcept;
  void pass_on() noexcept;

  std::atomic<std::uint32_t> wakes_{0};
  std::atomic<std::uint32_t> sleepers_{0};
  // What whoever is woken here is to do, before anything else.
  std::atomic<std::uint32_t> others_{0};  ///< 1: wake those that sleep here
  std::atomic<std::uint32_t> next_{0};    ///< wake one at this spot: its place among all, from 1
};

}  // namespace vcap::detail
