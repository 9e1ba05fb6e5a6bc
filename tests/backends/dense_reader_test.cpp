// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/dense_reader.hpp"

#include <random>

#include <gtest/gtest.h>

#include "backends/reader_support.hpp"

namespace vcap {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::FloatEq;
using testing::FloatNear;
using testing::HasSubstr;

std::vector<float> rows(const cv::Mat1f& values) { return {values.begin(), values.end()}; }

MadeOutputs map_of(cv::Size input, cv::Size picture, PictureMap map, std::vector<std::size_t> shape,
                   std::vector<float> values) {
  return MadeOutputs(input, picture, map).add("map", std::move(shape), std::move(values));
}

TEST(DepthReader, LeavesTheCellsUnchangedIfSet) {
  for (const std::vector<std::size_t>& shape :
       {std::vector<std::size_t>{1, 2, 3}, {1, 1, 2, 3}, {1, 2, 3, 1}, {2, 3}}) {
    const DepthMap map = DepthReader({.picture_size = false})(
        map_of({6, 4}, {12, 8}, {}, shape, {1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(map.values.size(), cv::Size(3, 2));
    EXPECT_THAT(rows(map.values), ElementsAre(1, 2, 3, 4, 5, 6));
  }
}

TEST(DepthReader, InterpolatesPixelsBetweenTheCentresOfCells) {
  // Two cells over four pixels: cells have centres at 1 and 3, pixels at 0.5 to 3.5.
  const DepthMap map =
      DepthReader(DepthSettings{})(map_of({4, 2}, {4, 2}, {}, {1, 1, 2}, {10, 20}));
  EXPECT_THAT(rows(map.values), ElementsAre(10, 12.5f, 17.5f, 20, 10, 12.5f, 17.5f, 20));
  // The picture is the right half of the input, twice as large, and mirrored.
  const DepthMap mirrored = DepthReader(DepthSettings{})(
      map_of({4, 1}, {4, 1}, {.x_scale = -2, .x_shift = 8}, {1, 1, 4}, {10, 20, 30, 40}));
  EXPECT_THAT(rows(mirrored.values), ElementsAre(40, 37.5f, 32.5f, 27.5f));
}

TEST(DepthReader, ReplacesBadNumbersByZeroAndKeepsHugeOnes) {
  const DepthMap map = DepthReader({.picture_size = false})(
      map_of({4, 2}, {4, 2}, {}, {1, 1, 4}, {kNan, kInfinity, -kInfinity, 3e38f}));
  EXPECT_THAT(rows(map.values), ElementsAre(0, 0, 0, 3e38f));
}

TEST(DepthMap, IsNormalisedToZeroToOne) {
  const DepthMap map{(cv::Mat1f(1, 4) << -1, 0, 1, 3)};
  EXPECT_THAT(rows(map.normalized()), ElementsAre(0, 0.25f, 0.5f, 1));
  const cv::Mat1b bytes = map.normalized_8u();
  EXPECT_THAT(std::vector<int>(bytes.begin(), bytes.end()), ElementsAre(0, 64, 128, 255));
  EXPECT_THAT(rows(DepthMap{cv::Mat1f(1, 2, 7.0f)}.normalized()), Each(0));
  EXPECT_THAT(rows(DepthMap{(cv::Mat1f(1, 3) << -3e38f, 0, 3e38f)}.normalized()),
              ElementsAre(0, 0.5f, 1));
  EXPECT_TRUE(DepthMap{}.normalized().empty());
  EXPECT_TRUE(DepthMap{}.normalized_8u().empty());
}

TEST(DensityReader, CountsAndScales) {
  const DensitySettings settings{.factor = 0.5, .picture_size = false};
  const DensityMap map =
      DensityReader(settings)(map_of({4, 4}, {8, 8}, {}, {1, 1, 2, 2}, {1, 2, 3, kNan}));
  EXPECT_THAT(rows(map.values), ElementsAre(0.5f, 1, 1.5f, 0));
  EXPECT_EQ(map.count(), 3);
}

TEST(DensityReader, SpreadsCellsOverThePicturesPixelsAndLeavesOutPadding) {
  // A cell is 2×2 pixels of the input. The input's first row is padding, which is not in the
  // picture. A pixel of the input is as wide as two pixels of the picture.
  const DensityMap map = DensityReader(DensitySettings{})(
      map_of({4, 2}, {8, 1}, {.x_scale = 2, .y_shift = -1}, {1, 1, 1, 2}, {8, 16}));
  EXPECT_THAT(rows(map.values), ElementsAre(1, 1, 1, 1, 2, 2, 2, 2));
  EXPECT_EQ(map.count(), 12);
}

TEST(DensityMap, KeepsItsCountInAnotherSize) {
  const DensityMap map{(cv::Mat1f(1, 3) << 3, 6, 9)};
  EXPECT_THAT(rows(map.resized({2, 1}).values), ElementsAre(FloatEq(6), FloatEq(12)));
  EXPECT_THAT(rows(map.resized({1, 2}).values), ElementsAre(9, 9));
  EXPECT_THAT(rows(map.resized({6, 1}).values),
              ElementsAre(FloatEq(1.5f), FloatEq(1.5f), FloatEq(3), FloatEq(3), FloatEq(4.5f),
                          FloatEq(4.5f)));
}

TEST(DensityMap, KeepsTheCountOfRandomMaps) {
  std::mt19937 engine(5);
  std::uniform_int_distribution<int> side(1, 70);
  std::uniform_real_distribution<float> value(0, 2);
  for (int round = 0; round < 50; ++round) {
    DensityMap map{cv::Mat1f(side(engine), side(engine))};
    for (float& density : map.values) density = value(engine);
    const cv::Size size(side(engine), side(engine));
    const DensityMap resized = map.resized(size);
    EXPECT_EQ(resized.values.size(), size);
    EXPECT_NEAR(resized.count(), map.count(), 1e-6 * map.count());
  }
}

TEST(DensityMap, BoundsHugeSums) {
  const DensityMap map{cv::Mat1f(2, 2, 3e38f)};
  EXPECT_THAT(rows(map.resized({1, 1}).values), ElementsAre(std::numeric_limits<float>::max()));
  EXPECT_DOUBLE_EQ(map.count(), 4.0 * 3e38f);
}

TEST(DensityMap, RefusesASizeWithoutPixels) {
  for (const cv::Size size : {cv::Size(0, 4), cv::Size(4, -1)})
    EXPECT_THAT(
        [&] { DensityMap{cv::Mat1f(2, 3, 1.0f)}.resized(size); },
        ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                     HasSubstr("a density map of 3x2 cannot get the size")));
  EXPECT_THROW(DensityMap{}.resized({4, 4}), InvalidArgument);
  EXPECT_EQ(DensityMap{}.count(), 0);
}

TEST(DenseReaders, RefuseOtherShapesAndSettings) {
  for (const std::vector<std::size_t>& shape :
       {std::vector<std::size_t>{1, 2, 4, 4}, {2, 4, 4}, {4}, {1, 4, 4, 2}, {1, 0, 4}, {}}) {
    const MadeOutputs outputs = MadeOutputs({4, 4}).fill("map", shape, 0);
    expect_refused(DepthReader(DepthSettings{}), outputs,
                   AllOf(HasSubstr("DepthReader: output \"map\" has the shape"),
                         HasSubstr("expected is [1,H,W], [1,1,H,W] or [1,H,W,1]")));
    expect_refused(DensityReader(DensitySettings{}), outputs, HasSubstr("DensityReader: output"));
  }
  for (const double factor : {0.0, -1.0, static_cast<double>(kNan)})
    expect_bad_setting([&] { DensityReader reader({.factor = factor}); },
                       HasSubstr("DensityReader: factor must be a number > 0"));
}

}  // namespace
}  // namespace vcap
