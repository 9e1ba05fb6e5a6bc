// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "streams/jobs_by_ticket.hpp"
#include "vcap/capsule/capsule_info.hpp"

namespace vcap {

struct Route;

/// The frames of a stored stream that wait to go to a capsule as one batch.
///
/// A batch has no linger: it fills while `most_calls` calls are in progress, and while its call
/// waits for a place (CallPlaces). A passive machine. Whenever frames wait, a call was begun and
/// has not ended, or the stream has been asked to begin one. Thread safety: thread-compatible.
class FrameBatches {
 public:
  using Batch = std::vector<std::unique_ptr<FrameJob>>;
  /// The route that a frame will have in the call.
  using RouteOf = std::function<std::shared_ptr<const Route>(const FrameJob&)>;

  /// `sizes`: what suits the model. `most_calls`: at least 1.
  FrameBatches(const BatchSizes& sizes, std::size_t most_calls);

  /// The frame waits; begin_call() must follow.
  void add(std::unique_ptr<FrameJob> job);
  /// Whether a call is to begin now: frames wait that no call has begun for, and not too many calls
  /// are in progress. If true, take() and end_call() must follow.
  [[nodiscard]] bool begin_call() noexcept;
  /// The frames of a call that was begun, all of one route and so with the same options, in the
  /// order of their tickets. Empty if the calls before it have taken all.
  Batch take(const RouteOf& route_of);
  /// Returns true if begin_call() must follow.
  [[nodiscard]] bool end_call() noexcept;

 private:
  const BatchSizes sizes_;
  const std::size_t most_calls_;
  std::size_t calls_ = 0;    ///< begun and not ended
  std::size_t untaken_ = 0;  ///< of these, those without take() so far
  JobsByTicket waiting_;
};

}  // namespace vcap
