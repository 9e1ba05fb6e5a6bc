// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <opencv2/core/types.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// A box that a detector found on one tile of a frame. Thread safety: value.
struct TiledBox {
  BoundingBox box{};      ///< in pixels of the frame, not of the tile
  double score = 0;       ///< any number; the higher, the better
  std::size_t label = 0;  ///< only boxes of one label suppress each other
  std::size_t tile = 0;   ///< the index of its tile in the list of tiles
};

/// When merge_tiles() counts two boxes as the same thing. Thread safety: value.
struct TileMerge {
  /// Two boxes show the same thing if their IoU is above this: 0…1.
  double max_overlap = 0.5;
  /// A cut box is a part of a box of another tile if more than this share of its area lies within
  /// the other box: 0…1.
  double max_cut_overlap = 0.6;
  /// A box counts as cut if one of its sides is at most this many pixels from an edge of its tile
  /// that is not an edge of the frame: 0 or above.
  double seam = 3;
};

/// Non-maximum suppression of boxes found on overlapping tiles, whose seams may cut things in two:
///
/// - Boxes that no seam cuts are suppressed by IoU and score, as in non_max_suppression().
/// - A cut box is dropped if it lies mostly within a box of another tile, for any scores: the
///   other tile shows more of the thing. The measure is the intersection over the area of the
///   smaller box, since the IoU of a part and its whole is low. A cut box never drops a box that is
///   not cut.
/// - Among cut boxes alone, the one of the largest area is kept first: it shows most of the thing.
///   Boxes are not joined. If no tile shows a whole thing, the box of its largest part is kept, and
///   several boxes if its parts overlap too little. Tiles that overlap by at least the largest
///   thing's size avoid that (Tiling).
///
/// `tiles` are rectangles in pixels of the frame. The smallest rectangle around them all counts as
/// the frame. Gives the indices of the boxes that stay, by falling score; of equal scores the
/// earlier box first. The result depends on the input alone.
///
/// Throws InvalidArgument if a setting is outside its range, a score is NaN, or a box names a tile
/// that is not in the list. Source: the sliced inference and its intersection over smaller area
/// of F. C. Akyon et al., "Slicing aided hyper inference and fine-tuning for small object
/// detection", ICIP 2022; the rule for cut boxes is vcap's own. Thread-safe.
VCAP_EXPORT std::vector<std::size_t> merge_tiles(std::span<const TiledBox> boxes,
                                                 std::span<const cv::Rect> tiles,
                                                 const TileMerge& settings = {});

}  // namespace vcap
