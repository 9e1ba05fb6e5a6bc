// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>

#include "vcap/base/export.hpp"
#include "vcap/capsule/stencil.hpp"
#include "vcap/model/frame.hpp"

namespace vcap {

/// The frames of a stream that were begun, as far back as a window may reach, and which of them
/// follow each other. Frames are known by their tickets, which rise by one. Thread safety:
/// thread-compatible.
class VCAP_EXPORT FrameHistory {
 public:
  /// Tickets that a window stays within.
  struct Bounds {
    std::uint64_t first = 0;
    std::uint64_t end = std::numeric_limits<std::uint64_t>::max();
  };

  /// The next frame; `breaks_off`: no window reaches over to it from those before.
  void begin(std::uint64_t ticket, const Frame& frame, bool breaks_off);
  /// No frame will follow.
  void end() noexcept { ended_ = true; }
  /// Forgets those before that one.
  void forget_before(std::uint64_t ticket);
  std::size_t size() const noexcept { return elements_.size(); }

  /// Whether it is known what there is up to `ahead` frames after that one: a frame or an edge.
  bool reaches(std::uint64_t ticket, std::int64_t ahead, const Bounds& bounds) const;
  /// Which frame stands at that offset from that one. Nothing beyond an edge, and at a null frame,
  /// unless the edge repeats: then the nearest towards that one, which is not null.
  std::optional<std::uint64_t> at(std::uint64_t ticket, int offset, StencilEdge edge,
                                  const Bounds& bounds) const;
  /// One that at() gave.
  const Frame& frame(std::uint64_t ticket) const { return element(ticket).frame; }

 private:
  struct Element {
    Frame frame;
    std::uint64_t segment;  ///< frames of one follow each other
  };
  const Element& element(std::uint64_t ticket) const { return elements_[ticket - first_]; }
  bool has(std::uint64_t ticket, const Bounds& bounds) const noexcept;

  std::deque<Element> elements_;
  std::uint64_t first_ = 0;  ///< the ticket of the first of them
  std::uint64_t segment_ = 0;
  bool ended_ = false;
};

}  // namespace vcap
