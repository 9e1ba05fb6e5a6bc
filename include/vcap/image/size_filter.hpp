// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "vcap/base/export.hpp"
#include "vcap/model/detection_nodes.hpp"

namespace vcap {

/// Keeps nodes by the size of the box around them; bounds are inclusive, in pixels and square
/// pixels, and an absent one does not bind:
///
///     nodes = vcap::SizeFilter{.min_width = 20, .max_area = 40'000}.apply(std::move(nodes));
///
/// Thread safety: value.
struct VCAP_EXPORT SizeFilter {
  std::optional<double> min_width{}, min_height{}, min_area{};
  std::optional<double> max_width{}, max_height{}, max_area{};

  /// Whether the node itself is within the bounds; its children are not regarded. Throws
  /// InvalidArgument where it has no coords, and like apply().
  bool accepts(const DetectionNode& node) const;

  /// The nodes that are within the bounds, in their order, with all their children. A list stays a
  /// list; a single node that is not within them gives none. Throws InvalidArgument where a bound
  /// is negative or NaN, a least one is above its greatest, or a node has no coords.
  DetectionNodes apply(DetectionNodes nodes) const;

  bool operator==(const SizeFilter&) const = default;
};

}  // namespace vcap
