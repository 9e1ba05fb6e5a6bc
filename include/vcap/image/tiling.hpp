// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <opencv2/core/types.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// Cuts frames into overlapping tiles of one size, so that small things in a large frame reach a
/// model at full resolution:
///
///     for (const cv::Rect& tile : vcap::Tiling{.tile = {640, 640}}.tiles(frame.image.size()))
///       detect(frame.image(tile));  // then DetectionNode::offset(tile.x, tile.y), merge_tiles()
///
/// Choose an overlap at least as large as the largest thing of interest: then each thing is
/// completely within some tile. Thread safety: value.
struct VCAP_EXPORT Tiling {
  cv::Size tile{640, 640};  ///< in pixels of the frame
  double overlap = 0.2;     ///< the minimum share of a tile that neighbours have in common: 0…0.9

  /// The number of columns (width) and rows (height) for a frame of that size: the fewest that keep
  /// the overlap. Throws InvalidArgument like tiles().
  cv::Size grid(cv::Size frame) const;

  /// The tiles that cover every pixel of a frame of that size, row by row from the top left. They
  /// all lie within it and are evenly spread to a pixel. The last ones end at its right and bottom
  /// edges. So neighbours have at least `overlap` in common, and usually some more. If a frame is
  /// smaller than a tile in width or height, it has one tile of its own size in that direction.
  ///
  /// Throws InvalidArgument if a side of the tile or the frame is below 1, or the overlap is
  /// outside its range.
  std::vector<cv::Rect> tiles(cv::Size frame) const;

  bool operator==(const Tiling&) const = default;
};

}  // namespace vcap
