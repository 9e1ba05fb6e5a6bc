// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/detection_nodes.hpp"

namespace vcap {

/// What draw_nodes() shows. Thread safety: value.
struct DrawOptions {
  /// A node's colour is that of its name, or of its track where it has one and else of its name.
  enum class ColorBy { name, track };

  bool boxes = true;       ///< the box around the node
  bool polygons = true;    ///< its outline, where that is another than the box
  bool names = true;       ///< in the label's first line, with the two below
  bool confidence = true;  ///< with two digits, of nodes that have one
  bool track_ids = true;   ///< the first 8 of its hexadecimal digits
  bool attributes = true;  ///< a line `category: value` each, below the first
  bool children = true;    ///< what is below the node, drawn like it
  ColorBy color_by = ColorBy::track;
  /// The size of text and lines, up to 100; 1 suits 640×480, 0 follows the image's smaller side.
  double scale = 0;
};

/// A bright BGR colour that belongs to the text: the same one in every run and on every machine.
/// Made of the text's 64-bit FNV-1a hash (G. Fowler, L. C. Noll, K.-P. Vo, D. Eastlake, "The FNV
/// Non-Cryptographic Hash Algorithm", IETF draft-eastlake-fnv). Thread-safe.
VCAP_EXPORT cv::Scalar stable_color(std::string_view text) noexcept;

/// Draws nodes into the image, which is the caller's own copy: the pixels of a Frame are shared.
///
/// Labels stand on a patch of the node's colour, above its box where there is room, else inside;
/// they are moved, and at last cut short, to stay within the image. Text beyond ASCII shows as '?'.
/// Lines that run out of the image are cut; a node without coords, or with one that is not finite,
/// is left out.
/// Throws InvalidArgument where the image is empty or not 8-bit BGR, or the scale is outside 0…100.
/// Thread-safe for different images.
VCAP_EXPORT void draw_nodes(cv::Mat& image, const DetectionNodes& nodes,
                            const DrawOptions& options = {});

}  // namespace vcap
