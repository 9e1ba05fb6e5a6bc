// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "vcap/base/clock.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// What happens to a request when the queue is at its bound.
enum class WhenFull {
  block,       ///< the sender waits for room
  reject,      ///< the sender gets BatchError (queue_full); run_all is taken whole or not at all
  drop_oldest  ///< the request that waits longest, among those of the lowest priority queued, fails
               ///< with BatchError (queue_full); the new one does where all others are above it
};

/// Which requests go first while several wait.
enum class RequestPriority : std::uint8_t { low, normal, high };

/// How requests become batches. Thread safety: value.
struct BatchPolicy {
  /// No batch is larger.
  std::size_t max_batch_size = 40;
  /// Sizes that the model runs best at, each within 1 to max_batch_size. A batch is of the largest
  /// one that the queue fills, or of all that is queued where it fills none. Empty: any size.
  std::vector<std::size_t> preferred_sizes{};
  /// How long the first request of a batch may wait for the batch to fill, counted from its
  /// arrival, within 0 to 1 hour. Zero: a batch starts as soon as a worker is free, but for the
  /// linger. A request whose deadline falls into the wait is not held back.
  std::chrono::nanoseconds max_queue_delay{0};
  /// Whether a worker that has just answered callers waits a little for them to come back, so that
  /// callers in a loop share batches. It waits only while as many as lately came back in time are
  /// still out, so never for a caller that is alone.
  bool adaptive_linger = true;
  /// The linger's bound: a share of the measured predict time, above 0 up to 1.
  double linger_share = 0.1;
  /// How many requests may wait; 0: any number.
  std::size_t max_queue_size = 0;
  WhenFull when_full = WhenFull::block;
  /// A waiting priority rises by one level each time this passes, so that none starves; above 0.
  std::chrono::nanoseconds priority_aging = std::chrono::milliseconds(100);
  /// Where predict throws or gives a wrong count: look, by halving the batch, for those requests
  /// that fail alone, and let only them fail. predict sees innocent inputs more than once.
  bool isolate_failures = false;
  /// How many batches may be predicted at once, 1 to 1024; predict must then be thread-safe.
  std::size_t workers = 1;
  /// Threads in the arena that predict's parallel loops run in, its workers among them; 0: as many
  /// as the machine has.
  std::size_t concurrency = 0;
  /// Whether BatchExecutor::statistics() counts. What it costs: docs/benchmarks.md.
  bool statistics = true;
  /// Null: the machine's steady clock.
  std::shared_ptr<Clock> clock{};
};

/// How many inputs a model takes at once. Thread safety: value.
struct BatchSizes {
  std::size_t preferred = 0;  ///< what it runs best at; 0: any size
  std::size_t maximum = 1;    ///< at least 1, and no less than is preferred
  bool operator==(const BatchSizes&) const = default;
};

/// Throws InvalidArgument that names the field, its value and what is allowed. Thread-safe.
VCAP_EXPORT void validate(const BatchPolicy& policy);

/// What one request asks for. Thread safety: value.
struct RequestOptions {
  /// Fails with BatchError (deadline_exceeded) where predict has not begun by then; also while
  /// another batch runs.
  std::optional<std::chrono::steady_clock::time_point> deadline{};
  /// Fails with BatchError (cancelled) where it is asked to stop before predict sees the input.
  std::stop_token cancellation{};
  RequestPriority priority = RequestPriority::normal;
};

}  // namespace vcap
