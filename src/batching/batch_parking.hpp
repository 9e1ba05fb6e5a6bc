// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace vcap::detail {

/// Where blocked callers sleep. Those that are likely to share a batch share a spot, so that one
/// system call wakes them all; whoever is woken in vain goes back to sleep. Spots are never
/// destroyed: a caller may come to sleep at one when its executor, having answered, is gone.
/// Thread safety: thread-safe.
class BatchParking {
 public:
  /// One of few for all executors. Callers with equal arguments share it, others may.
  static BatchParking& spot(std::uint64_t executor, std::uint64_t group) noexcept;

  /// Sleeps until `open` is not 0.
  void wait(const std::atomic<std::uint32_t>& open) noexcept;
  /// Wakes all who sleep here, after what they wait for was set.
  void wake_all() noexcept;

 private:
  std::atomic<std::uint32_t> wakes_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

}  // namespace vcap::detail
