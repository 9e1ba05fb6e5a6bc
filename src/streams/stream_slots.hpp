// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "workers/in_flight_limiter.hpp"

namespace vcap {

/// The slots that one stream holds of its pipeline's bound on frames in flight.
///
/// The stream's first frame needs no slot, and neither do frames that wait for later frames
/// (stencils). Thread safety: thread-compatible; waiter() may be used by any thread.
class StreamSlots {
 public:
  explicit StreamSlots(InFlightLimiter& limiter) : limiter_(limiter) {}

  /// The number of frames that need no slot because they wait for later frames. Never lowered.
  void set_look_ahead(std::size_t frames) noexcept { look_ahead_ = frames; }
  /// Whether one more frame is allowed, with `in_flight` frames already there; takes a slot if it
  /// needs one.
  bool take(std::size_t in_flight);
  /// Adds a slot that InFlightLimiter::wait() gave.
  void add() noexcept { ++slots_; }
  /// Gives back the slots that this number of frames does not need.
  void settle(std::size_t frames);
  /// For InFlightLimiter::wait(). settle() releases it once the next frame needs no slot.
  InFlightLimiter::Waiter& waiter() noexcept { return waiter_; }

 private:
  InFlightLimiter& limiter_;
  InFlightLimiter::Waiter waiter_;
  std::size_t slots_ = 0;
  std::size_t look_ahead_ = 0;
};

}  // namespace vcap
