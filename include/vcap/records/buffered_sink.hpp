// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "vcap/base/export.hpp"
#include "vcap/records/sink.hpp"

namespace vcap {

class Clock;

/// What happens to a record when the queue of a sink is full.
enum class SinkOverflowPolicy {
  wait,         ///< the stream waits for room; no record is lost
  drop_oldest,  ///< the oldest waiting record is lost to this sink, with reason "full"
  drop_newest   ///< the new record is lost to this sink, with reason "full"
};

/// What happens when a sink's write() throws.
enum class SinkFailurePolicy {
  end_stream,  ///< the streams that write to it end with the exception
  skip         ///< records are lost to this sink, with reason "failed", until it works again
};

/// How a sink may block or end the streams that write to it. Thread safety: value.
struct SinkPolicy {
  /// The number of records that may wait while one is written, at least 1; each holds the
  /// pixels that the sink uses (Sink::needs_pixels, Sink::pictures).
  std::size_t queue = 64;
  SinkOverflowPolicy overflow = SinkOverflowPolicy::drop_oldest;
  SinkFailurePolicy failure = SinkFailurePolicy::end_stream;
  /// With `skip`: after a failure the sink is not tried for this long, and records that wait or
  /// arrive are lost to it. The next record after that is tried. From 0 to 1 day.
  std::chrono::nanoseconds retry_after = std::chrono::seconds(5);
  /// Null: the machine's steady clock.
  std::shared_ptr<Clock> clock{};
};

/// Throws InvalidArgument with the field, its value and what is allowed. Thread-safe.
VCAP_EXPORT void validate(const SinkPolicy& policy);

/// Writes to another sink from a thread of its own, in order, so that a slow or full disk need not
/// block a stream.
///
/// With `end_stream`, every write() after a failure throws what the sink threw; waiting records are
/// lost with reason "failed", and close() throws once more. With `skip`, the first failure is
/// logged. The first record that is written again is logged too, with the number of lost records.
///
/// close() writes the waiting records and closes the other sink; it throws what that throws, under
/// every policy. The destructor without close() drops waiting records. It waits for a write that
/// has begun, forever if that never returns. stats() counts every record that write() accepted
/// exactly once. Throws InvalidArgument if there is no sink or the policy is not valid. Thread
/// safety: thread-safe.
VCAP_EXPORT std::unique_ptr<Sink> make_buffered_sink(std::shared_ptr<Sink> sink,
                                                     SinkPolicy policy = {});

}  // namespace vcap
