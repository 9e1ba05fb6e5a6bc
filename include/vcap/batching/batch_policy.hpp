// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <vector>

namespace vcap {

/// What happens to a request when the queue is at its bound.
enum class WhenFull {
  block,       ///< submit waits for room
  reject,      ///< submit throws BatchError (queue_full)
  drop_oldest  ///< the request that waits longest fails with BatchError (queue_full)
};

/// How requests become batches. Thread safety: value.
struct BatchPolicy {
  std::size_t max_batch_size = 40;
};

/// What one request asks for. Thread safety: value.
struct RequestOptions {
  /// Fails with BatchError (deadline_exceeded) where predict has not begun by then.
  std::optional<std::chrono::steady_clock::time_point> deadline{};
  /// Fails with BatchError (cancelled) where it is asked to stop before predict sees the input.
  std::stop_token cancellation{};
};

}  // namespace vcap
