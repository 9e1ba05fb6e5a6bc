// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// What a window has at a place without a frame: before the first or after the last frame of a
/// stream, beyond a discontinuity, and at a null frame.
enum class StencilEdge {
  repeat,  ///< the nearest frame towards the present one
  null,    ///< a frame with Frame::is_null, and no nodes
  error    ///< nothing: the capsule is not called, and the record has the error stencil_edge
};

/// The name in manifests, such as "repeat". Thread-safe.
VCAP_EXPORT std::string_view to_string(StencilEdge edge) noexcept;

/// The frames around the present one that a capsule sees together (Backend::process_window). Thread
/// safety: value.
struct Stencil {
  /// Relative to the present frame: {-1, 0} is the frame before and the present one. In any order,
  /// without repetition, within -1000 to 1000. Offsets above 0 delay results by that many frames.
  /// If the capsule takes nodes or pictures, 0 is required.
  std::vector<int> offsets{};
  StencilEdge edge = StencilEdge::repeat;

  /// How far the window reaches back from the present frame, 0 or more.
  VCAP_EXPORT std::int64_t back() const noexcept;
  /// How far it looks ahead, 0 or more.
  VCAP_EXPORT std::int64_t ahead() const noexcept;

  bool operator==(const Stencil&) const = default;
};

}  // namespace vcap
