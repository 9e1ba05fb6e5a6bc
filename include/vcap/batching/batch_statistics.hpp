// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "vcap/base/histogram.hpp"

namespace vcap {

/// Counts of a BatchExecutor since it was made. It counts items: a run_all of 40 counts 40.
///
/// Every accepted item is in exactly one of queued, running, answered, failed, dropped, expired,
/// cancelled and closed, or waits for room in a full queue (the rest of a run_all). While requests
/// come and go, the numbers may differ by a few items. Thread safety: value.
struct BatchStatistics {
  std::size_t queued = 0;   ///< waiting now
  std::size_t running = 0;  ///< within predict now

  std::uint64_t accepted = 0;
  std::uint64_t answered = 0;   ///< got their output
  std::uint64_t failed = 0;     ///< predict threw, or gave a wrong number of outputs
  std::uint64_t dropped = 0;    ///< removed by QueueOverflowPolicy::drop_oldest
  std::uint64_t expired = 0;    ///< their deadline passed
  std::uint64_t cancelled = 0;  ///< stopped by their stop token
  std::uint64_t closed = 0;     ///< failed by close(CloseMode::cancel)
  std::uint64_t rejected = 0;   ///< not accepted, because the queue was full

  Histogram batch_sizes;  ///< items in each batch given to predict
  Histogram wait_ns;      ///< each item's wait from its arrival until its batch was taken
  Histogram predict_ns;   ///< duration of each batch
};

}  // namespace vcap
