// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/tiling.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

std::string size_text(cv::Size size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

void check(const Tiling& tiling, cv::Size frame) {
  const auto refuse = [](const std::string& what) {
    throw InvalidArgument(ErrorCode::invalid_argument, "Tiling: " + what);
  };
  if (tiling.tile.width < 1 || tiling.tile.height < 1)
    refuse("a tile of " + size_text(tiling.tile) +
           " pixels has no pixels; give sides of 1 or more");
  if (!(tiling.overlap >= 0 && tiling.overlap <= 0.9))
    refuse("overlap " + number_text(tiling.overlap) + " is not within 0 to 0.9");
  if (frame.width < 1 || frame.height < 1)
    refuse("a frame of " + size_text(frame) + " pixels cannot be cut into tiles");
}

/// The number of tiles along one axis.
int tile_count(int frame, int tile, double overlap) {
  if (frame <= tile) return 1;
  const int common = std::min(tile - 1, static_cast<int>(std::ceil(overlap * tile)));
  const int step = tile - common;
  return 1 + (frame - tile - 1) / step + 1;
}

/// Where the i-th of n tiles begins: evenly spread, rounded to whole pixels.
int tile_begin(int i, int n, int frame, int tile) {
  if (n == 1) return 0;
  const std::int64_t room = frame - tile, gaps = n - 1;
  return static_cast<int>((i * room + gaps / 2) / gaps);
}

}  // namespace

cv::Size Tiling::grid(cv::Size frame) const {
  check(*this, frame);
  return {tile_count(frame.width, tile.width, overlap),
          tile_count(frame.height, tile.height, overlap)};
}

std::vector<cv::Rect> Tiling::tiles(cv::Size frame) const {
  const cv::Size n = grid(frame);
  const cv::Size size(std::min(tile.width, frame.width), std::min(tile.height, frame.height));
  std::vector<cv::Rect> result;
  for (int row = 0; row < n.height; ++row)
    for (int column = 0; column < n.width; ++column)
      result.emplace_back(cv::Point(tile_begin(column, n.width, frame.width, size.width),
                                    tile_begin(row, n.height, frame.height, size.height)),
                          size);
  return result;
}

}  // namespace vcap
