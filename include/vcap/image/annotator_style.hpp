// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace vcap {

/// Colours nodes by their name, or by their track (by their name if they have no track); see
/// stable_color().
enum class ColorBy { name, track };

/// The point of a node's box that stands for it: the middle of the bottom edge, which is where an
/// upright thing touches the ground, or the centre.
enum class NodeAnchor { bottom, centre };

/// What all annotators have in common: which nodes they draw, in which colours, and how large.
/// Thread safety: value.
struct AnnotatorStyle {
  /// Draws only nodes of these names; empty: all. A node of another name may have children that are
  /// drawn.
  std::vector<std::string> names{};
  bool children = true;  ///< draws the nodes below a node in the same way
  ColorBy color_by = ColorBy::track;
  /// The size of text and lines, up to 100; 1 suits 640×480, 0 follows the image's smaller side.
  double scale = 0;

  bool operator==(const AnnotatorStyle&) const = default;
};

}  // namespace vcap
