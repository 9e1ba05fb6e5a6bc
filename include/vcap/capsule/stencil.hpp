// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// What stands in a window where no frame is: before the first and behind the last of a stream, on
/// the other side of a discontinuity, and at a null frame.
enum class StencilEdge {
  repeat,  ///< the nearest frame towards the present one
  null,    ///< a frame with Frame::is_null, and no nodes
  error    ///< nothing: the capsule is not called, and the record says so (stencil_edge)
};

/// The name as manifests write it, such as "repeat". Thread-safe.
VCAP_EXPORT std::string_view to_string(StencilEdge edge) noexcept;

/// The frames around the present one that a capsule sees together (Backend::process_window).
/// Thread safety: value.
struct Stencil {
  /// From the present frame: {-1, 0} is the one before and the present one. In any order, each
  /// once, within -1000 to 1000; offsets above 0 delay results by as many frames. A capsule that
  /// takes nodes has 0 among them.
  std::vector<int> offsets{};
  StencilEdge edge = StencilEdge::repeat;

  /// How far the window reaches back from the present frame, 0 or more.
  VCAP_EXPORT std::int64_t back() const noexcept;
  /// How far it looks ahead, 0 or more.
  VCAP_EXPORT std::int64_t ahead() const noexcept;

  bool operator==(const Stencil&) const = default;
};

}  // namespace vcap
