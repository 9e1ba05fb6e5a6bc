// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>

#include "vcap/capsule/stencil.hpp"
#include "vcap/model/frame.hpp"

namespace vcap {

/// The frames of a stream that have begun, as far back as a window can reach, and which of them
/// follow each other. A frame is known by its ticket; tickets rise by one. Thread safety:
/// thread-compatible.
class FrameHistory {
 public:
  /// The tickets that a window must stay within.
  struct Bounds {
    std::uint64_t first = 0;
    std::uint64_t end = std::numeric_limits<std::uint64_t>::max();
  };

  /// Adds the next frame. `breaks_off`: no window reaches from this frame to earlier ones, or back.
  void begin(std::uint64_t ticket, const Frame& frame, bool breaks_off);
  /// No frame will follow.
  void end() noexcept { ended_ = true; }
  /// Forgets the frames before that ticket.
  void forget_before(std::uint64_t ticket);
  std::size_t size() const noexcept { return elements_.size(); }

  /// Whether the next `ahead` frames after `ticket` are known: each is a frame, or lies beyond an
  /// edge.
  bool reaches(std::uint64_t ticket, std::int64_t ahead, const Bounds& bounds) const;
  /// The frame at `offset` from `ticket`. `nullopt` beyond an edge or at a null frame. If the edge
  /// repeats, the nearest frame on the way there that is not null.
  std::optional<std::uint64_t> at(std::uint64_t ticket, int offset, StencilEdge edge,
                                  const Bounds& bounds) const;
  /// A frame that at() returned.
  const Frame& frame(std::uint64_t ticket) const { return element(ticket).frame; }

 private:
  struct Element {
    Frame frame;
    std::uint64_t segment;  ///< frames of one segment follow each other
  };
  const Element& element(std::uint64_t ticket) const { return elements_[ticket - first_]; }
  bool has(std::uint64_t ticket, const Bounds& bounds) const noexcept;

  std::deque<Element> elements_;
  std::uint64_t first_ = 0;  ///< the ticket of the first element
  std::uint64_t segment_ = 0;
  bool ended_ = false;
};

}  // namespace vcap
