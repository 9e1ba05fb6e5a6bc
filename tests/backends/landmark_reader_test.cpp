// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/landmark_reader.hpp"

#include <gtest/gtest.h>

#include "backends/reader_support.hpp"

namespace vcap {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::SizeIs;

/// The names point_0, point_1 and so on.
std::vector<std::string> names(std::size_t count) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back("point_" + std::to_string(i));
  return result;
}

TEST(LandmarkReader, ReadsPointsInPixelsOfTheInput) {
  for (const std::vector<std::size_t>& shape :
       {std::vector<std::size_t>{1, 4}, {1, 2, 2}, {1, 4, 1, 1}, {4}}) {
    MadeOutputs outputs = letterboxed();
    outputs.add("points", shape, {10, 50, 400, 45});
    const auto found = LandmarkReader({.names = {"eye", "ear"}})(outputs);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->confidence, 1);
    EXPECT_THAT(found->keypoints,
                ElementsAre(AllOf(PointNear(20, 20), Field(&Keypoint::name, "eye"),
                                  Field(&Keypoint::z, std::nullopt),
                                  Field(&Keypoint::confidence, std::nullopt)),
                            AllOf(PointNear(800, 10), Field(&Keypoint::name, "ear"))));
  }
}

TEST(LandmarkReader, ReadsPointsRelativeToTheInput) {
  MadeOutputs outputs({100, 50}, {200, 150}, {.x_scale = -2, .x_shift = 200, .y_scale = 3});
  outputs.add("points", {1, 3}, {0.25f, 0.5f, 0.125f});
  const auto found =
      LandmarkReader({.names = {"eye"}, .values = 3, .relative = true, .z = 2})(outputs);
  ASSERT_TRUE(found.has_value());
  ASSERT_THAT(found->keypoints, ElementsAre(PointNear(150, 75)));
  EXPECT_EQ(found->keypoints[0].z, 25);
}

TEST(LandmarkReader, ReadsFaceLandmarksOfMediaPipe) {
  LandmarkSettings settings{
      .names = names(468), .values = 3, .z = 2, .flag = CertaintyOutput{{"", 1}}};
  MadeOutputs outputs({192, 192}, {384, 384}, {.x_scale = 2, .y_scale = 2});
  outputs.fill("conv2d_21", {1, 1, 1, 1404}, 7).add("conv2d_31", {1, 1, 1, 1}, {2});
  outputs.value(0, 467 * 3 + 2) = -4;
  const auto found = LandmarkReader(settings)(outputs);
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->confidence, 0.88079708, 1e-7);
  ASSERT_THAT(found->keypoints, SizeIs(468));
  EXPECT_THAT(found->keypoints[467], AllOf(PointNear(14, 14), Field(&Keypoint::z, -8)));
  outputs.value(1, 0) = -0.1f;
  EXPECT_EQ(LandmarkReader(settings)(outputs), std::nullopt);
}

TEST(LandmarkReader, ReadsPoseLandmarksOfMediaPipe) {
  const LandmarkSettings settings{.names = names(39),
                                  .values = 5,
                                  .z = 2,
                                  .visibility = 3,
                                  .presence = 4,
                                  .flag = CertaintyOutput{{"", 1}, false}};
  MadeOutputs outputs({256, 256});
  outputs.fill("Identity", {1, 195}, 0).add("Identity_1", {1, 1}, {0.75f});
  const float first[] = {1, 2, 3, 1, -1}, second[] = {4, 5, 6, 2, 3};
  std::ranges::copy(first, outputs.values(0).begin());
  std::ranges::copy(second, outputs.values(0).begin() + 5);
  const auto found = LandmarkReader(settings)(outputs);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->confidence, 0.75);
  ASSERT_THAT(found->keypoints, SizeIs(39));
  // Each point has the smaller of its two sigmoids: that of −1, then that of 2.
  EXPECT_THAT(found->keypoints[0].confidence, Optional(DoubleNear(0.26894142, 1e-7)));
  EXPECT_THAT(found->keypoints[1].confidence, Optional(DoubleNear(0.88079708, 1e-7)));
  EXPECT_THAT(found->keypoints[1], AllOf(PointNear(4, 5), Field(&Keypoint::z, 6)));
}

TEST(LandmarkReader, LeavesOutPointsWithoutAName) {
  MadeOutputs outputs({9, 9});
  outputs.add("points", {1, 6}, {1, 2, 3, 4, 5, 6});
  const auto found = LandmarkReader({.names = {"eye", "", "ear"}})(outputs);
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->keypoints, ElementsAre(AllOf(PointNear(1, 2), Field(&Keypoint::name, "eye")),
                                            AllOf(PointNear(5, 6), Field(&Keypoint::name, "ear"))));
}

TEST(LandmarkReader, ReadsCertaintiesFromSeparateOutputs) {
  const LandmarkSettings settings{.names = names(2),
                                  .visibility_output = CertaintyOutput{{"visible", 0}},
                                  .presence_output = CertaintyOutput{{"present", 0}, false}};
  MadeOutputs outputs({9, 9});
  outputs.fill("points", {1, 4}, 1)
      .add("present", {1, 2}, {0.5f, 2})
      .add("visible", {1, 2}, {1, 1});
  const auto found = LandmarkReader(settings)(outputs);
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->keypoints[0].confidence, Optional(0.5));
  EXPECT_THAT(found->keypoints[1].confidence, Optional(DoubleNear(0.73105858, 1e-7)));
}

TEST(LandmarkReader, AppliesThresholdsZeroAndOne) {
  LandmarkSettings settings{.names = names(1), .flag = CertaintyOutput{{"", 1}, false}};
  MadeOutputs outputs({9, 9});
  outputs.fill("points", {1, 2}, 1).add("flag", {1, 1}, {0});
  settings.threshold = 0;
  EXPECT_TRUE(LandmarkReader(settings)(outputs).has_value());
  settings.threshold = 1;
  EXPECT_FALSE(LandmarkReader(settings)(outputs).has_value());
  outputs.value(1, 0) = 1;
  EXPECT_TRUE(LandmarkReader(settings)(outputs).has_value());
}

TEST(LandmarkReader, LeavesOutPointsWithBadNumbers) {
  const LandmarkSettings settings{.names = names(2),
                                  .values = 4,
                                  .z = 2,
                                  .visibility = 3,
                                  .presence_output = CertaintyOutput{{"", 1}},
                                  .flag = CertaintyOutput{{"", 2}}};
  const LandmarkReader reader(settings);
  for (const float bad : kBadNumbers) {
    for (std::size_t place = 0; place < 8; ++place) {
      MadeOutputs outputs({9, 9});
      outputs.fill("points", {1, 8}, 1).fill("present", {1, 2}, 1).fill("flag", {1}, 1);
      outputs.value(0, place) = bad;
      const auto found = reader(outputs);
      ASSERT_TRUE(found.has_value());
      EXPECT_THAT(found->keypoints, ElementsAre(Field(&Keypoint::name, names(2)[1 - place / 4])));
    }
    MadeOutputs outputs({9, 9});
    outputs.fill("points", {1, 8}, 1).fill("present", {1, 2}, bad).fill("flag", {1}, 1);
    EXPECT_THAT(reader(outputs)->keypoints, IsEmpty());
    outputs.value(2, 0) = bad;
    EXPECT_FALSE(reader(outputs).has_value());
  }
}

TEST(LandmarkReader, LeavesHugeNumbersUnchanged) {
  MadeOutputs outputs({9, 9});
  outputs.add("points", {1, 2}, {1e30f, -3e38f});
  const auto found = LandmarkReader({.names = names(1), .relative = true})(outputs);
  ASSERT_THAT(found->keypoints, SizeIs(1));
  EXPECT_NEAR(found->keypoints[0].point.x, 9e30, 1e24);
}

TEST(LandmarkReader, RefusesOtherShapes) {
  MadeOutputs outputs({9, 9});
  outputs.fill("points", {1, 1434}, 0).fill("flag", {1, 2}, 0);
  const LandmarkSettings settings{.names = names(468), .values = 3};
  expect_refused(
      LandmarkReader(settings), outputs,
      AllOf(HasSubstr("LandmarkReader: output \"points\" has the shape [1,1434]; expected "
                      "is [1,1404] or [1,468,3] for 468 points"),
            HasSubstr("set names and values to the model's")));
  expect_refused(
      LandmarkReader({.names = names(478), .values = 3, .flag = CertaintyOutput{{"", 1}}}), outputs,
      HasSubstr("output \"flag\" has the shape [1,2]; expected is [1,1]"));
  MadeOutputs turned({9, 9});
  expect_refused(LandmarkReader({.names = names(3)}), turned.fill("points", {1, 2, 3}, 0),
                 HasSubstr("expected is [1,6] or [1,3,2]"));
}

TEST(LandmarkReader, RefusesBadSettings) {
  const auto bad = [](LandmarkSettings settings, const std::string& message) {
    expect_bad_setting([&] { LandmarkReader reader(settings); }, HasSubstr(message));
  };
  bad({}, "names is empty");
  bad({.names = names(1), .values = 1}, "values must be within 2 to 1000, got 1");
  bad({.names = names(1), .values = 3, .z = 3},
      "z has index 3, but must be at least 2 and below values, 3");
  bad({.names = names(1), .values = 3, .visibility = 1}, "visibility has index 1");
  bad({.names = names(1), .presence = 2}, "presence has index 2");
  bad({.names = names(1), .threshold = 2}, "threshold 2.0");
}

TEST(HeatmapReader, MovesPeaksTowardsTheHigherNeighbour) {
  // Cells are 8×10 pixels of the input. The first map's peak is in column 1, row 2; its right and
  // upper neighbours are higher than the opposite ones. The second map's peak is in a corner.
  MadeOutputs outputs({32, 40}, {64, 80}, {.x_scale = 2, .y_scale = 2});
  outputs.add("maps", {1, 2, 4, 4},
              {0, 0, 0, 0,           //
               0, 0.3f, 0, 0,        //
               0.1f, 0.8f, 0.2f, 0,  //
               0, 0.2f, 0, 0,        //
               //
               0.9f, 0.1f, 0, 0,  //
               0.1f, 0, 0, 0,     //
               0, 0, 0, 0,        //
               0, 0, 0, 0});
  HeatmapSettings settings{.names = {"knee", "foot"}};
  // (1.5 + 0.25)·8 = 14, (2.5 − 0.25)·10 = 22.5.
  const auto found = HeatmapReader(settings)(outputs);
  EXPECT_THAT(found,
              ElementsAre(AllOf(PointNear(28, 45), Field(&Keypoint::name, "knee"),
                                Field(&Keypoint::confidence, Optional(DoubleNear(0.8, 1e-6)))),
                          PointNear(8, 10)));
  settings.offset = 0;
  EXPECT_THAT(HeatmapReader(settings)(outputs), ElementsAre(PointNear(20, 35), PointNear(0, 0)));
  settings.threshold = 0.85;
  EXPECT_THAT(HeatmapReader(settings)(outputs), ElementsAre(Field(&Keypoint::name, "foot")));
  settings.threshold = 1;
  EXPECT_THAT(HeatmapReader(settings)(outputs), IsEmpty());
}

TEST(HeatmapReader, DropsMapsWithBadNumbersAndBoundsHugeOnes) {
  for (const float bad : kBadNumbers) {
    MadeOutputs outputs({4, 4});
    outputs.fill("maps", {1, 2, 2, 2}, 0.5f);
    outputs.value(0, 3) = bad;
    EXPECT_THAT(HeatmapReader({.names = {"a", "b"}})(outputs),
                ElementsAre(Field(&Keypoint::name, "b")));
  }
  MadeOutputs outputs({4, 4});
  outputs.fill("maps", {1, 1, 3, 3}, -3e38f);
  outputs.value(0, 4) = 3e38f;
  EXPECT_THAT(HeatmapReader({.names = {"a"}})(outputs),
              ElementsAre(AllOf(PointNear(2, 2), Field(&Keypoint::confidence, 1.0))));
}

TEST(HeatmapReader, RefusesOtherShapesAndSettings) {
  const HeatmapReader reader({.names = names(17)});
  expect_refused(
      reader, MadeOutputs({9, 9}).fill("maps", {1, 16, 4, 4}, 0),
      AllOf(HasSubstr("HeatmapReader: output \"maps\" has the shape [1,16,4,4]; expected is "
                      "[1,17,H,W]"),
            HasSubstr("set names to the model's points")));
  expect_refused(reader, MadeOutputs({9, 9}).fill("maps", {1, 17, 0, 4}, 0),
                 HasSubstr("[1,17,H,W]"));
  expect_refused(reader, MadeOutputs({9, 9}).fill("maps", {17, 4}, 0), HasSubstr("[1,17,H,W]"));
  const auto bad = [](HeatmapSettings settings, const std::string& message) {
    expect_bad_setting([&] { HeatmapReader other(settings); }, HasSubstr(message));
  };
  bad({}, "names is empty");
  bad({.names = {"a"}, .threshold = -1}, "threshold -1.0");
  bad({.names = {"a"}, .offset = 1.5}, "offset 1.5");
}

}  // namespace
}  // namespace vcap
