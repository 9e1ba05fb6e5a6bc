// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/detection_nodes.hpp"

namespace vcap {

/// What draw_nodes() shows. Thread safety: value.
struct DrawOptions {
  /// Colours nodes by their name, or by their track (by their name if they have no track).
  enum class ColorBy { name, track };

  bool boxes = true;       ///< the box around the node
  bool polygons = true;    ///< its outline, if it differs from the box
  bool names = true;       ///< in the label's first line, with the two below
  bool confidence = true;  ///< with two digits, if the node has one
  bool track_ids = true;   ///< the first 8 of its hexadecimal digits
  bool attributes = true;  ///< a line `category: value` each, below the first
  bool children = true;    ///< the nodes below it, drawn in the same way
  ColorBy color_by = ColorBy::track;
  /// The size of text and lines, up to 100; 1 suits 640×480, 0 follows the image's smaller side.
  double scale = 0;
};

/// A bright BGR colour derived from the text: the same one in every run and on every machine. It
/// comes from the text's 64-bit FNV-1a hash (G. Fowler, L. C. Noll, K.-P. Vo, D. Eastlake, "The FNV
/// Non-Cryptographic Hash Algorithm", IETF draft-eastlake-fnv). Thread-safe.
VCAP_EXPORT cv::Scalar stable_color(std::string_view text) noexcept;

/// Draws nodes into the image, which must be the caller's own copy: the pixels of a Frame are
/// shared.
///
/// Labels stand on a patch of the node's colour, above its box if there is room, else inside. They
/// are moved, and shortened if necessary, to stay within the image. Characters beyond ASCII appear
/// as '?'. Lines are clipped at the image's edges. A node is left out if it has no coords, or a
/// coordinate that is not finite.
/// Throws InvalidArgument if the image is empty or not 8-bit BGR, or the scale is outside 0…100.
/// Thread-safe for different images.
VCAP_EXPORT void draw_nodes(cv::Mat& image, const DetectionNodes& nodes,
                            const DrawOptions& options = {});

}  // namespace vcap
