// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "vcap/base/export.hpp"
#include "vcap/model/detection_nodes.hpp"

namespace vcap {

/// Keeps nodes by the size of the box around them. Bounds are inclusive, in pixels and square
/// pixels; an absent one means no limit:
///
///     nodes = vcap::SizeFilter{.min_width = 20, .max_area = 40'000}.apply(std::move(nodes));
///
/// Thread safety: value.
struct VCAP_EXPORT SizeFilter {
  std::optional<double> min_width{}, min_height{}, min_area{};
  std::optional<double> max_width{}, max_height{}, max_area{};

  /// Whether the node itself is within the bounds; its children are ignored. Throws InvalidArgument
  /// if it has no coords, and like apply().
  bool accepts(const DetectionNode& node) const;

  /// The nodes within the bounds, in their order, with all their children. A list stays a list; a
  /// single node outside the bounds gives none. Throws InvalidArgument if a bound is negative or
  /// NaN, a minimum is above its maximum, or a node has no coords.
  DetectionNodes apply(DetectionNodes nodes) const;

  bool operator==(const SizeFilter&) const = default;
};

}  // namespace vcap
