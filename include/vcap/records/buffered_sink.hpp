// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "vcap/base/clock.hpp"
#include "vcap/base/export.hpp"
#include "vcap/records/sink.hpp"

namespace vcap {

/// What happens to a record when as many as are allowed wait for a sink.
enum class WhenSinkFull {
  wait,         ///< the stream waits for room; no record is lost
  drop_oldest,  ///< the record that waits longest is lost to this sink, with reason "full"
  drop_newest   ///< the one that came is, likewise
};

/// What happens when a sink's write() throws.
enum class WhenSinkFails {
  end_stream,  ///< the streams that write to it end with what it threw
  skip         ///< records are lost to this sink, with reason "failed", until it works again
};

/// How a sink may hold up, or end, the streams that write to it. Thread safety: value.
struct SinkPolicy {
  /// How many records may wait while one is written, from 1; each holds its frame's pixels.
  std::size_t queue = 64;
  WhenSinkFull when_full = WhenSinkFull::drop_oldest;
  WhenSinkFails when_failed = WhenSinkFails::end_stream;
  /// With `skip`: for so long a sink that failed is left alone, and what waits and comes is lost to
  /// it; the next record then is tried. Within 0 to 1 day.
  std::chrono::nanoseconds retry_after = std::chrono::seconds(5);
  /// Null: the machine's steady clock.
  std::shared_ptr<Clock> clock{};
};

/// Throws InvalidArgument that names the field, its value and what is allowed. Thread-safe.
VCAP_EXPORT void validate(const SinkPolicy& policy);

/// Writes to another sink from a thread of its own, in order, so that a disk that is slow or full
/// holds up no stream.
///
/// With `end_stream`, every write() after a failure throws what the sink threw, what waited is lost
/// with reason "failed", and close() throws it once more. With `skip`, the log tells of the first
/// failure and, with how many records were lost, of the first record that is written again.
/// close() writes what waits, waits for it, and closes the other sink; what that throws, it throws
/// whatever the policy. The destructor without close() drops what waits; it has to wait for the
/// write that has begun, for ever where that never returns. stats() counts every record that
/// write() took exactly once. Throws InvalidArgument for no sink or a policy that is not valid.
/// Thread safety: thread-safe.
VCAP_EXPORT std::unique_ptr<Sink> make_buffered_sink(std::shared_ptr<Sink> sink,
                                                     SinkPolicy policy = {});

}  // namespace vcap
