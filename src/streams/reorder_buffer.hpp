// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "streams/jobs_by_ticket.hpp"

namespace vcap {

/// Holds completed frames until they are next in order, and lets one thread deliver at a time. A
/// passive machine. Thread safety: thread-compatible.
class ReorderBuffer {
 public:
  /// Tickets begin with 0, without gaps; each comes once.
  void add(std::unique_ptr<FrameJob> job);
  /// Whether begin_delivery() would return a frame.
  bool has_next() const noexcept { return !delivering_ && completed_.begins_with(next_); }
  /// The next frame in order. Null if it is not complete, or if another frame is being delivered.
  /// end_delivery() must follow.
  std::unique_ptr<FrameJob> begin_delivery();
  void end_delivery() noexcept { delivering_ = false; }
  /// The ticket of the next frame to deliver.
  std::uint64_t next() const noexcept { return next_; }

 private:
  JobsByTicket completed_;
  std::uint64_t next_ = 0;
  bool delivering_ = false;
};

}  // namespace vcap
