// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace vcap {

struct FrameJob;

/// Frames in the order of their tickets. A sorted vector: a stream has few frames in flight, and
/// most of them come in order. Thread safety: thread-compatible.
class JobsByTicket {
 public:
  JobsByTicket();
  ~JobsByTicket();
  JobsByTicket(const JobsByTicket&) = delete;
  JobsByTicket& operator=(const JobsByTicket&) = delete;

  void add(std::unique_ptr<FrameJob> job);
  bool empty() const noexcept { return jobs_.empty(); }
  std::size_t size() const noexcept { return jobs_.size(); }
  /// Whether the first frame has that ticket.
  bool begins_with(std::uint64_t ticket) const noexcept;
  auto begin() const noexcept { return jobs_.begin(); }
  auto end() const noexcept { return jobs_.end(); }
  /// There must be one.
  std::unique_ptr<FrameJob> take_first();
  /// The first `count` frames; there must be as many.
  std::vector<std::unique_ptr<FrameJob>> take_first(std::size_t count);

 private:
  std::vector<std::unique_ptr<FrameJob>> jobs_;
};

}  // namespace vcap
