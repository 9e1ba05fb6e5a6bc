// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/tiling.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <opencv2/core.hpp>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Tiling, CutsAFrameIntoOverlappingTilesRowByRow) {
  EXPECT_THAT((Tiling{.tile = {60, 50}, .overlap = 0.2}.tiles({100, 90})),
              ElementsAre(cv::Rect(0, 0, 60, 50), cv::Rect(40, 0, 60, 50), cv::Rect(0, 40, 60, 50),
                          cv::Rect(40, 40, 60, 50)));
}

TEST(Tiling, GivesASmallFrameOneTileOfItsOwnSize) {
  const Tiling tiling{.tile = {60, 50}};
  EXPECT_THAT(tiling.tiles({60, 50}), ElementsAre(cv::Rect(0, 0, 60, 50)));
  EXPECT_THAT(tiling.tiles({30, 20}), ElementsAre(cv::Rect(0, 0, 30, 20)));
  EXPECT_THAT(tiling.tiles({61, 20}), ElementsAre(cv::Rect(0, 0, 60, 20), cv::Rect(1, 0, 60, 20)));
}

struct Case {
  int frame, tile;
  double overlap;
  int columns;
};

TEST(Tiling, TakesTheFewestTilesThatKeepTheOverlap) {
  for (const Case& c : {Case{3840, 640, 0.2, 8}, Case{1920, 640, 0, 3}, Case{1921, 640, 0, 4},
                        Case{1920, 1920, 0.5, 1}, Case{1080, 640, 0.3, 2}, Case{10, 1, 0.9, 10},
                        Case{2147483647, 1073741824, 0, 2}}) {
    const Tiling tiling{.tile = {c.tile, 7}, .overlap = c.overlap};
    EXPECT_EQ(tiling.grid({c.frame, 7}), cv::Size(c.columns, 1)) << c.frame << " by " << c.tile;
  }
}

TEST(Tiling, CoversEveryPixelEvenlyWithinFramesOfAnySize) {
  std::mt19937 engine(3);
  std::uniform_int_distribution<int> side(1, 120), tile_side(1, 60);
  std::uniform_real_distribution<double> share(0, 0.9);
  for (int round = 0; round < 500; ++round) {
    const cv::Size frame(side(engine), side(engine));
    const Tiling tiling{.tile = {tile_side(engine), tile_side(engine)}, .overlap = share(engine)};
    SCOPED_TRACE("round " + std::to_string(round));
    const std::vector<cv::Rect> tiles = tiling.tiles(frame);
    const cv::Size grid = tiling.grid(frame);
    ASSERT_EQ(tiles.size(), static_cast<std::size_t>(grid.area()));
    cv::Mat1b covered(frame, uchar{0});
    for (const cv::Rect& tile : tiles) {
      ASSERT_EQ(tile & cv::Rect({0, 0}, frame), tile);
      EXPECT_EQ(tile.size(), tiles[0].size());
      covered(tile) = 1;
    }
    EXPECT_EQ(cv::countNonZero(covered), frame.area());
    EXPECT_EQ(tiles.back().br(), cv::Point(frame.width, frame.height));
    int narrowest = frame.width, widest = 0;
    for (int i = 1; i < grid.width; ++i) {
      const int common =
          tiles[static_cast<std::size_t>(i - 1)].br().x - tiles[static_cast<std::size_t>(i)].x;
      narrowest = std::min(narrowest, common);
      widest = std::max(widest, common);
    }
    if (grid.width == 1) continue;
    const double promised =
        std::min<double>(tiling.tile.width - 1, tiling.overlap * tiling.tile.width);
    EXPECT_GE(narrowest, promised);
    EXPECT_LE(widest - narrowest, 1);
    // One tile fewer could not keep the overlap.
    const double reach =
        tiling.tile.width + (grid.width - 2) * (tiling.tile.width - std::ceil(promised));
    EXPECT_LT(reach, frame.width);
  }
}

TEST(Tiling, RefusesInvalidTilesFramesAndOverlaps) {
  const auto message = [](const Tiling& tiling, cv::Size frame) -> std::string {
    try {
      tiling.tiles(frame);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(message({.tile = {0, 9}}, {9, 9}), HasSubstr("0x9"));
  EXPECT_THAT(message({.tile = {9, -1}}, {9, 9}), HasSubstr("9x-1"));
  EXPECT_THAT(message({}, {9, 0}), HasSubstr("frame of 9x0"));
  for (const double overlap : {-0.1, 0.91, nan})
    EXPECT_THAT(message({.overlap = overlap}, {9, 9}), HasSubstr("within 0 to 0.9"));
}

}  // namespace
}  // namespace vcap
