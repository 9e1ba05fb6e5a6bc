// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "vcap/base/histogram.hpp"

namespace vcap {

/// What a BatchExecutor has done since it was made. Items are counted: a run_all of 40 counts 40.
///
/// Every item that was accepted is in exactly one of queued, running, answered, failed, dropped,
/// expired, cancelled and closed; while requests come and go, the numbers may be some items apart.
/// Thread safety: value.
struct BatchStatistics {
  std::size_t queued = 0;   ///< wait now
  std::size_t running = 0;  ///< are within predict now

  std::uint64_t accepted = 0;
  std::uint64_t answered = 0;   ///< with their output
  std::uint64_t failed = 0;     ///< with what predict threw, or for a wrong count of outputs
  std::uint64_t dropped = 0;    ///< by WhenFull::drop_oldest
  std::uint64_t expired = 0;    ///< by their deadline
  std::uint64_t cancelled = 0;  ///< by their stop token
  std::uint64_t closed = 0;     ///< by close(CloseMode::cancel)
  std::uint64_t rejected = 0;   ///< not accepted, since the queue was full

  Histogram batch_sizes{};  ///< items in each batch that predict was given
  Histogram wait_ns{};      ///< of each item in a batch, from its arrival until the batch was taken
  Histogram predict_ns{};   ///< of each batch
};

}  // namespace vcap
