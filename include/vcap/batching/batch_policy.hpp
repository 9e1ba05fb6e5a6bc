// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

class Clock;

/// What happens to a request when the queue is full.
enum class QueueOverflowPolicy {
  wait,        ///< the sender waits for room
  reject,      ///< the sender gets BatchError (queue_full); run_all is accepted whole or not at all
  drop_oldest  ///< of the queued requests of lowest priority, the one that waits longest fails with
               ///< BatchError (queue_full); if all queued requests have a higher priority than the
               ///< new one, the new one fails
};

/// Which requests go first while several wait.
enum class RequestPriority : std::uint8_t { low, normal, high };

/// How requests become batches. Thread safety: value.
struct BatchPolicy {
  /// The largest batch.
  std::size_t max_batch_size = 40;
  /// Batch sizes that suit the model, each within 1 to max_batch_size. A batch has the largest size
  /// that the queue can fill; if the queue fills none of them, it has all queued requests. Empty:
  /// any size.
  std::vector<std::size_t> preferred_sizes{};
  /// How long the first request of a batch may wait for the batch to fill, counted from its
  /// arrival, within 0 to 1 hour. Zero: a batch starts as soon as a worker is free, except for the
  /// linger. A request is not held back if its deadline falls within the wait.
  std::chrono::nanoseconds max_queue_delay{0};
  /// Whether a worker that has just answered callers waits a little for their next requests, so
  /// that callers in a loop share batches. It waits for no more callers than recently returned in
  /// time. So it never delays a single caller.
  bool adaptive_linger = true;
  /// The linger, as a share of the measured predict time; above 0 up to 1. While callers come back,
  /// it may last up to three times as long.
  double linger_share = 0.1;
  /// How many requests may be queued; 0: unlimited.
  std::size_t max_queue_size = 0;
  QueueOverflowPolicy overflow = QueueOverflowPolicy::wait;
  /// The priority of a waiting request rises by one level each time this passes, so that no request
  /// starves; above 0.
  std::chrono::nanoseconds priority_aging = std::chrono::milliseconds(100);
  /// If predict throws or gives a wrong number of outputs: halve the batch to find the requests
  /// that fail on their own, and fail only those. predict then sees the other inputs more than
  /// once. If false, every request of the batch that has no output yet fails, also those of other
  /// streams. docs/benchmarks.md has the cost if nothing fails (batching.7).
  bool isolate_failures = true;
  /// How many batches may be predicted at once, 1 to 1024; above 1, predict must be thread-safe.
  std::size_t workers = 1;
  /// Whether a caller of run() or run_all() may predict a batch itself, in its own thread, if the
  /// batch is ready, contains the caller's inputs and less than `workers` batches run. This saves
  /// two wake-ups of threads. If false, only the executor's own threads predict: for a predict that
  /// is bound to a thread. docs/batching.md has the rules.
  bool callers_predict = true;
  /// Number of threads in the arena for predict's parallel loops, including its workers; 0: as many
  /// as the machine has.
  std::size_t concurrency = 0;
  /// Whether BatchExecutor::statistics() counts. docs/benchmarks.md has the cost.
  bool statistics = true;
  /// Null: the machine's steady clock.
  std::shared_ptr<Clock> clock{};
};

/// Throws InvalidArgument that names the field, its value and what is allowed. Thread-safe.
VCAP_EXPORT void validate(const BatchPolicy& policy);

/// The settings of one request. Thread safety: value.
struct RequestOptions {
  /// If predict has not begun by then, the request fails with BatchError (deadline_exceeded); also
  /// while another batch runs.
  std::optional<std::chrono::steady_clock::time_point> deadline{};
  /// If a stop is requested before the input is taken for a batch, the request fails with
  /// BatchError (cancelled).
  std::stop_token cancellation{};
  RequestPriority priority = RequestPriority::normal;
};

}  // namespace vcap
