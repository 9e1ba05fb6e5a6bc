// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "streams/jobs_by_ticket.hpp"
#include "vcap/capsule/capsule_info.hpp"

namespace vcap {

/// The frames of a stored stream that wait to go to a capsule as one batch.
///
/// A batch has no linger: it fills while `most_calls` calls are in progress. A passive machine.
/// Whenever frames wait, a call is in progress, or the stream has been asked to begin one. Thread
/// safety: thread-compatible.
class FrameBatches {
 public:
  using Batch = std::vector<std::unique_ptr<FrameJob>>;

  /// `sizes`: what suits the model. `most_calls`: at least 1.
  FrameBatches(const BatchSizes& sizes, std::size_t most_calls);

  /// The frame waits; begin_call() must follow.
  void add(std::unique_ptr<FrameJob> job);
  /// The frames of the next batch, all of one route and so with the same options, in the order of
  /// their tickets. Empty if no frame waits or enough calls are in progress. Unless it is empty,
  /// end_call() must follow.
  Batch begin_call();
  /// Returns true if begin_call() must follow.
  [[nodiscard]] bool end_call() noexcept;

 private:
  const BatchSizes sizes_;
  const std::size_t most_calls_;
  std::size_t calls_ = 0;  ///< in progress
  JobsByTicket waiting_;
};

}  // namespace vcap
