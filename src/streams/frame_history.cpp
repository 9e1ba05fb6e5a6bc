// SPDX-License-Identifier: Apache-2.0
#include "streams/frame_history.hpp"

#include <cassert>

namespace vcap {

void FrameHistory::begin(std::uint64_t ticket, const Frame& frame, bool breaks_off) {
  if (elements_.empty()) first_ = ticket;
  assert(ticket == first_ + elements_.size());
  if (breaks_off) ++segment_;
  elements_.push_back({frame, segment_});
}

void FrameHistory::forget_before(std::uint64_t ticket) {
  while (!elements_.empty() && first_ < ticket) {
    elements_.pop_front();
    ++first_;
  }
}

bool FrameHistory::has(std::uint64_t ticket, const Bounds& bounds) const noexcept {
  return ticket >= first_ && ticket < first_ + elements_.size() && ticket >= bounds.first &&
         ticket < bounds.end;
}

bool FrameHistory::reaches(std::uint64_t ticket, std::int64_t ahead, const Bounds& bounds) const {
  const std::uint64_t last = ticket + static_cast<std::uint64_t>(ahead);
  return ended_ || last < first_ + elements_.size() || last >= bounds.end ||
         elements_.back().segment != element(ticket).segment;
}

std::optional<std::uint64_t> FrameHistory::at(std::uint64_t ticket, int offset, StencilEdge edge,
                                              const Bounds& bounds) const {
  // An offset before ticket 0 wraps around to a large number, where there is no frame either.
  const std::uint64_t target = ticket + static_cast<std::uint64_t>(std::int64_t{offset});
  const std::uint64_t segment = element(ticket).segment;
  if (has(target, bounds)) {
    const Element& there = element(target);
    if (there.segment == segment && !there.frame.is_null) return target;
  }
  if (edge != StencilEdge::repeat) return std::nullopt;
  const auto follows = [&](std::uint64_t other) {
    return has(other, bounds) && element(other).segment == segment;
  };
  const int step = offset < 0 ? -1 : 1;
  std::uint64_t nearest = ticket;
  for (std::uint64_t next = ticket; next != target && follows(next);
       next += static_cast<std::uint64_t>(std::int64_t{step}))
    if (!frame(next).is_null) nearest = next;
  return nearest;
}

}  // namespace vcap
