// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/merge_tiles.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "algorithms/box_raster.hpp"
#include "algorithms/scored_boxes.hpp"
#include "base/text.hpp"
#include "vcap/algorithms/iou.hpp"

namespace vcap {
namespace {

constexpr const char* kMergeTiles = "merge_tiles";

void check(std::span<const TiledBox> boxes, std::size_t tiles, const TileMerge& settings) {
  check_share(kMergeTiles, "max_overlap", settings.max_overlap);
  check_share(kMergeTiles, "max_cut_overlap", settings.max_cut_overlap);
  if (!(settings.seam >= 0) || !std::isfinite(settings.seam))
    refuse_argument(kMergeTiles,
                    "seam " + number_text(settings.seam) + " is not a finite number of 0 or above");
  for (std::size_t i = 0; i < boxes.size(); ++i)
    if (boxes[i].tile >= tiles)
      refuse_argument(kMergeTiles, "box " + std::to_string(i) + " is of tile " +
                                       std::to_string(boxes[i].tile) + ", but there are " +
                                       std::to_string(tiles) + " tiles, counted from 0");
}

/// The rectangle around all tiles, by its edges.
BoundingBox frame_of(std::span<const cv::Rect> tiles) {
  BoundingBox frame{.x1 = HUGE_VAL, .y1 = HUGE_VAL, .x2 = -HUGE_VAL, .y2 = -HUGE_VAL};
  for (const cv::Rect& tile : tiles) {
    frame.x1 = std::min<double>(frame.x1, tile.x);
    frame.y1 = std::min<double>(frame.y1, tile.y);
    frame.x2 = std::max<double>(frame.x2, static_cast<double>(tile.x) + tile.width);
    frame.y2 = std::max<double>(frame.y2, static_cast<double>(tile.y) + tile.height);
  }
  return frame;
}

bool is_cut(const BoundingBox& box, const cv::Rect& tile, const BoundingBox& frame, double seam) {
  const double right = static_cast<double>(tile.x) + tile.width;
  const double bottom = static_cast<double>(tile.y) + tile.height;
  return (tile.x > frame.x1 && box.x1 <= tile.x + seam) ||
         (tile.y > frame.y1 && box.y1 <= tile.y + seam) ||
         (right < frame.x2 && box.x2 >= right - seam) ||
         (bottom < frame.y2 && box.y2 >= bottom - seam);
}

/// The share of `part` that lies within `whole`; 0 if `part` is the larger of the two.
double share_within(const BoundingBox& part, const BoundingBox& whole) {
  if (part.area() > whole.area()) return 0;
  const double width = std::min(part.x2, whole.x2) - std::max(part.x1, whole.x1);
  const double height = std::min(part.y2, whole.y2) - std::max(part.y1, whole.y1);
  return width > 0 && height > 0 ? width * height / part.area() : 0;
}

}  // namespace

std::vector<std::size_t> merge_tiles(std::span<const TiledBox> tiled,
                                     std::span<const cv::Rect> tiles, const TileMerge& settings) {
  check(tiled, tiles.size(), settings);
  std::vector<BoundingBox> boxes;
  std::vector<double> scores;
  std::vector<std::size_t> labels;
  for (const TiledBox& box : tiled) {
    boxes.push_back(box.box);
    scores.push_back(box.score);
    labels.push_back(box.label);
  }
  check_scores(kMergeTiles, scores);
  const BoundingBox frame = frame_of(tiles);
  std::vector<bool> cut(tiled.size()), stays(tiled.size());
  for (std::size_t i = 0; i < tiled.size(); ++i)
    cut[i] = has_area(boxes[i]) && is_cut(boxes[i], tiles[tiled[i].tile], frame, settings.seam);

  const auto has_better = [&](const BoxRaster& kept, std::size_t index) {
    const BoundingBox& box = boxes[index];
    return kept.any_near(box, cut[index] ? 0 : settings.max_overlap, [&](std::size_t other) {
      return iou(boxes[other], box) > settings.max_overlap ||
             (cut[index] && tiled[other].tile != tiled[index].tile &&
              share_within(box, boxes[other]) > settings.max_cut_overlap);
    });
  };
  std::vector<std::size_t> order = by_falling_score(scores);
  for (std::vector<std::size_t>& group : grouped_by_label(order, labels)) {
    const auto first_cut = std::stable_partition(group.begin(), group.end(),
                                                 [&](std::size_t index) { return !cut[index]; });
    std::stable_sort(first_cut, group.end(), [&](std::size_t a, std::size_t b) {
      return boxes[a].area() > boxes[b].area();
    });
    BoxRaster kept(boxes, group);
    for (const std::size_t index : group) {
      if (has_area(boxes[index])) {
        if (has_better(kept, index)) continue;
        kept.add(index);
      }
      stays[index] = true;
    }
  }
  std::erase_if(order, [&](std::size_t index) { return !stays[index]; });
  return order;
}

}  // namespace vcap
