// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "streams/jobs_by_ticket.hpp"

namespace vcap {

/// Lets the frames of a stream through to a stateful capsule one at a time, in the order of their
/// tickets. A passive machine. Thread safety: thread-compatible.
class StatefulGate {
 public:
  /// Sets the first ticket; later calls have no effect.
  void open(std::uint64_t first_ticket) noexcept;
  /// Whether that frame would be let in. It is then inside.
  bool is_turn_of(std::uint64_t ticket) const noexcept { return next_ == ticket; }
  /// The frame, if it is its turn. Otherwise parks it and returns null.
  std::unique_ptr<FrameJob> enter(std::unique_ptr<FrameJob> job);
  /// The frame inside has passed. Returns the next frame if it is parked; it is then inside.
  std::unique_ptr<FrameJob> leave();

 private:
  std::optional<std::uint64_t> next_;  ///< absent until open()
  JobsByTicket parked_;
};

}  // namespace vcap
