// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/image/annotator_style.hpp"
#include "vcap/image/stable_color.hpp"
#include "vcap/model/detection_node.hpp"
#include "vcap/model/detection_nodes.hpp"

namespace vcap {

/// What draw_nodes() shows. Thread safety: value.
struct DrawOptions {
  using ColorBy = vcap::ColorBy;

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

/// Draws nodes into the image, which must be the caller's own copy: the pixels of a Frame are
/// shared. It is a BoxAnnotator, a PolygonAnnotator and a LabelAnnotator, made for this call; other
/// annotators draw trails, masks, keypoints and more (Annotators, make_annotators()).
///
/// `image`: height × width × 3, 8 bit, BGR. `nodes`: a record's objects (FrameRecord::objects), a
/// DetectionNodes, or any contiguous sequence of nodes; their coordinates are pixels of the image.
///
/// Labels stand on a patch of the node's colour, above its box if there is room, and never cover
/// each other: LabelAnnotator says where they go in a crowd, and when they are shortened or left
/// out. Lines are clipped at the image's edges. A node is left out if it has no coords, or a
/// coordinate that is not finite.
/// Throws InvalidArgument if the image is empty or not 8-bit BGR, or the scale is outside 0…100.
/// Thread-safe for different images.
VCAP_EXPORT void draw_nodes(cv::Mat& image, std::span<const DetectionNode> nodes,
                            const DrawOptions& options = {});

}  // namespace vcap
