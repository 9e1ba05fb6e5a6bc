// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>

namespace vcap {

struct FrameJob;

/// Holds completed frames until they are next in order, and lets one thread deliver at a time. A
/// passive machine. Thread safety: thread-compatible.
class ReorderBuffer {
 public:
  ReorderBuffer();
  ~ReorderBuffer();
  ReorderBuffer(const ReorderBuffer&) = delete;
  ReorderBuffer& operator=(const ReorderBuffer&) = delete;

  /// Tickets begin with 0, without gaps; each comes once.
  void add(std::unique_ptr<FrameJob> job);
  /// Whether begin_delivery() would return a frame.
  bool has_next() const noexcept { return !delivering_ && is_next_there(); }
  /// The next frame in order. Null if it is not complete, or if another frame is being delivered.
  /// end_delivery() must follow.
  std::unique_ptr<FrameJob> begin_delivery();
  void end_delivery() noexcept { delivering_ = false; }
  /// The ticket of the next frame to deliver.
  std::uint64_t next() const noexcept { return next_; }

 private:
  bool is_next_there() const noexcept;

  std::map<std::uint64_t, std::unique_ptr<FrameJob>> completed_;  ///< by ticket
  std::uint64_t next_ = 0;
  bool delivering_ = false;
};

}  // namespace vcap
