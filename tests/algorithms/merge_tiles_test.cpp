// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/merge_tiles.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vcap/algorithms/non_max_suppression.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two tiles side by side share 40 pixels: the seams are at x = 60 and x = 100.
const std::vector<cv::Rect> kTiles = {{0, 0, 100, 100}, {60, 0, 100, 100}};

TEST(MergeTiles, DropsACutBoxWithinABoxOfTheNeighbour) {
  // The thing is at x = 80 to 130; the left tile cuts it at 100. The boxes' IoU is only 0.4.
  EXPECT_THAT(
      merge_tiles(std::vector<TiledBox>{{.box = {80, 10, 100, 50}, .score = 0.6, .tile = 0},
                                        {.box = {80, 10, 130, 50}, .score = 0.9, .tile = 1}},
                  kTiles),
      ElementsAre(1));
}

TEST(MergeTiles, DropsACutBoxWhateverItsScore) {
  EXPECT_THAT(
      merge_tiles(std::vector<TiledBox>{{.box = {80, 10, 99, 50}, .score = 0.9, .tile = 0},
                                        {.box = {80, 10, 130, 50}, .score = 0.3, .tile = 1}},
                  kTiles),
      ElementsAre(1));
}

TEST(MergeTiles, KeepsABoxWithinAnotherIfNoSeamCutsIt) {
  const TiledBox outer{.box = {80, 10, 130, 90}, .score = 0.9, .tile = 1};
  EXPECT_THAT(
      merge_tiles(std::vector<TiledBox>{outer, {.box = {80, 10, 96, 50}, .score = 0.6, .tile = 0}},
                  kTiles),
      ElementsAre(0, 1));
  // At the frame's own edge, no tile shows more of a thing.
  EXPECT_THAT(merge_tiles(std::vector<TiledBox>{{.box = {0, 10, 50, 90}, .score = 0.9, .tile = 0},
                                                {.box = {0, 10, 20, 40}, .score = 0.8, .tile = 0}},
                          kTiles),
              ElementsAre(0, 1));
}

TEST(MergeTiles, KeepsACutBoxWithinABoxOfItsOwnTile) {
  EXPECT_THAT(
      merge_tiles(std::vector<TiledBox>{{.box = {20, 10, 100, 90}, .score = 0.9, .tile = 0},
                                        {.box = {80, 10, 100, 40}, .score = 0.8, .tile = 0}},
                  kTiles),
      ElementsAre(0, 1));
}

TEST(MergeTiles, KeepsALargeCutBoxAroundASmallWholeOne) {
  EXPECT_THAT(merge_tiles(std::vector<TiledBox>{{.box = {30, 10, 100, 90}, .score = 0.9, .tile = 0},
                                                {.box = {70, 30, 90, 60}, .score = 0.8, .tile = 1}},
                          kTiles),
              ElementsAre(0, 1));
}

TEST(MergeTiles, KeepsTheLargestPartOfAThingThatEveryTileCuts) {
  // The thing is at x = 10 to 120: 90 pixels are in the left tile, 60 in the right, 40 in both.
  const std::vector<TiledBox> parts = {{.box = {60, 10, 120, 50}, .score = 0.9, .tile = 1},
                                       {.box = {10, 10, 100, 50}, .score = 0.6, .tile = 0}};
  EXPECT_THAT(merge_tiles(parts, kTiles), ElementsAre(1));
  EXPECT_THAT(merge_tiles(parts, kTiles, {.max_cut_overlap = 0.7}), ElementsAre(0, 1));
}

TEST(MergeTiles, KeepsBoxesOfDifferentLabels) {
  EXPECT_THAT(
      merge_tiles(
          std::vector<TiledBox>{{.box = {80, 10, 100, 50}, .score = 0.6, .label = 1, .tile = 0},
                                {.box = {80, 10, 130, 50}, .score = 0.9, .label = 2, .tile = 1}},
          kTiles),
      ElementsAre(1, 0));
}

TEST(MergeTiles, UsesTheWidthOfTheSeam) {
  const std::vector<TiledBox> boxes = {{.box = {80, 10, 95, 50}, .score = 0.6, .tile = 0},
                                       {.box = {80, 10, 130, 50}, .score = 0.9, .tile = 1}};
  EXPECT_THAT(merge_tiles(boxes, kTiles, {.seam = 4}), ElementsAre(1, 0));
  EXPECT_THAT(merge_tiles(boxes, kTiles, {.seam = 5}), ElementsAre(1));
}

TEST(MergeTiles, FindsSeamsAtAllFourEdges) {
  const std::vector<cv::Rect> tiles = {{30, 30, 40, 40}, {0, 0, 100, 100}};
  for (const BoundingBox& part : {BoundingBox{30, 40, 50, 60}, BoundingBox{40, 30, 60, 50},
                                  BoundingBox{50, 40, 70, 60}, BoundingBox{40, 50, 60, 70}})
    EXPECT_THAT(
        merge_tiles(std::vector<TiledBox>{{.box = part, .score = 1, .tile = 0},
                                          {.box = {10, 10, 90, 90}, .score = 0.1, .tile = 1}},
                    tiles),
        ElementsAre(1));
}

TEST(MergeTiles, SuppressesByIouOnASingleTile) {
  std::mt19937 engine(7);
  std::uniform_real_distribution<double> position(0, 200), side(-1, 60), score(0, 1);
  for (int round = 0; round < 20; ++round) {
    std::vector<TiledBox> tiled;
    std::vector<BoundingBox> boxes;
    std::vector<double> scores;
    std::vector<std::size_t> labels;
    for (std::size_t i = 0; i < 150; ++i) {
      const double x = position(engine), y = position(engine);
      boxes.push_back({x, y, x + side(engine), y + side(engine)});
      scores.push_back(score(engine));
      labels.push_back(i % 3);
      tiled.push_back({.box = boxes[i], .score = scores[i], .label = labels[i]});
    }
    EXPECT_EQ(merge_tiles(tiled, std::vector<cv::Rect>{{0, 0, 300, 300}}),
              non_max_suppression(boxes, scores, labels, 0.5));
  }
}

// A thing that is not larger than the tiles' overlap is found once, wherever the tiles cut it.
TEST(MergeTiles, GivesEachThingOnceOnRandomFrames) {
  std::mt19937 engine(9);
  std::uniform_real_distribution<double> side(8, 30), score(0.2, 1);
  std::uniform_int_distribution<int> jitter(0, 20);
  std::vector<cv::Rect> tiles;
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 4; ++column) tiles.emplace_back(70 * column, 70 * row, 100, 100);
  for (int round = 0; round < 50; ++round) {
    std::vector<BoundingBox> things;
    std::vector<TiledBox> found;
    for (int row = 0; row < 4; ++row)
      for (int column = 0; column < 6; ++column) {  // 310 x 240 pixels, without overlap
        const double x = 51 * column + jitter(engine), y = 60 * row + jitter(engine);
        things.push_back(
            {x, y, std::min(310.0, x + side(engine)), std::min(240.0, y + side(engine))});
        for (std::size_t tile = 0; tile < tiles.size(); ++tile) {
          const BoundingBox& thing = things.back();
          const BoundingBox part{std::max<double>(thing.x1, tiles[tile].x),
                                 std::max<double>(thing.y1, tiles[tile].y),
                                 std::min<double>(thing.x2, tiles[tile].br().x),
                                 std::min<double>(thing.y2, tiles[tile].br().y)};
          if (part.width() > 0 && part.height() > 0)
            found.push_back({.box = part, .score = score(engine), .tile = tile});
        }
      }
    std::vector<BoundingBox> kept;
    for (const std::size_t index : merge_tiles(found, tiles)) kept.push_back(found[index].box);
    EXPECT_THAT(kept, ::testing::UnorderedElementsAreArray(things)) << "round " << round;
  }
}

TEST(MergeTiles, RefusesBoxesWithoutATileAndSettingsOutOfRange) {
  const auto message = [](const TiledBox& box, const TileMerge& settings) -> std::string {
    try {
      merge_tiles(std::vector{TiledBox{}, box}, kTiles, settings);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(message({.tile = 2}, {}), HasSubstr("box 1 is of tile 2, but there are 2 tiles"));
  EXPECT_THAT(message({.score = nan}, {}), HasSubstr("score 1"));
  for (const double value : {-0.1, nan}) {
    EXPECT_THAT(message({}, {.max_overlap = value}), HasSubstr("max_overlap"));
    EXPECT_THAT(message({}, {.max_cut_overlap = value}), HasSubstr("max_cut_overlap"));
    EXPECT_THAT(message({}, {.seam = value}), HasSubstr("seam"));
  }
  EXPECT_THAT(merge_tiles({}, kTiles), IsEmpty());
  EXPECT_THAT(merge_tiles({}, {}), IsEmpty());
}

}  // namespace
}  // namespace vcap
