// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/blaze_reader.hpp"

#include <cmath>

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
using testing::SizeIs;

/// The score before the sigmoid that gives this confidence.
float logit(double confidence) {
  return static_cast<float>(std::log(confidence / (1 - confidence)));
}

/// Outputs for these settings that contain no candidate.
MadeOutputs nothing_found(const BlazeSettings& settings, MadeOutputs outputs) {
  const std::size_t count = BlazeReader(settings).anchor_count();
  const std::size_t width = 4 + 2 * settings.keypoints.size();
  outputs.fill("regressors", {1, count, width}, 0);
  return outputs.fill("scores", {1, count, 1}, -1000);
}

void put(MadeOutputs& outputs, std::size_t anchor, float score, const std::vector<float>& raw) {
  std::ranges::copy(raw,
                    outputs.values(0).begin() + static_cast<std::ptrdiff_t>(anchor * raw.size()));
  outputs.value(1, anchor) = score;
}

/// Two anchors in each of 2×2 cells of a 16×16 input, and one keypoint.
BlazeSettings small() {
  BlazeSettings settings;
  settings.anchors.input = {16, 16};
  settings.anchors.strides = {8};
  settings.keypoints = {"nose"};
  return settings;
}

TEST(BlazeReader, HasTheAnchorsOfTheModelsOfMediaPipe) {
  EXPECT_EQ(BlazeReader(BlazeSettings::face_short_range()).anchor_count(), 896u);
  EXPECT_EQ(BlazeReader(BlazeSettings::face_full_range()).anchor_count(), 2304u);
  EXPECT_EQ(BlazeReader(BlazeSettings::palm()).anchor_count(), 2016u);
  EXPECT_EQ(BlazeReader(BlazeSettings::pose()).anchor_count(), 2254u);
}

TEST(BlazeReader, NamesAsManyKeypointsAsTheModelsHave) {
  EXPECT_THAT(BlazeSettings::face_short_range().keypoints, SizeIs(6));  // [1,896,16]
  EXPECT_THAT(BlazeSettings::face_full_range().keypoints, SizeIs(6));   // [1,2304,16]
  EXPECT_THAT(BlazeSettings::palm().keypoints, SizeIs(7));              // [1,2016,18]
  EXPECT_THAT(BlazeSettings::pose().keypoints, SizeIs(4));              // [1,2254,12]
}

TEST(BlazeReader, PlacesBoxesAndKeypointsRelativeToTheAnchor) {
  // Anchor 5 is the second of cell (0,1): centre (0.25, 0.75) of the input, that is (4, 12).
  MadeOutputs outputs =
      nothing_found(small(), MadeOutputs({16, 16}, {160, 80}, {.x_scale = 10, .y_scale = 5}));
  put(outputs, 5, logit(0.75), {1, -2, 4, 6, 2, 3});
  const Detections detections = BlazeReader(small())(outputs);
  ASSERT_THAT(detections,
              ElementsAre(AllOf(BoxNear(30, 35, 70, 65),
                                Field(&Detection::confidence, DoubleNear(0.75, 1e-6)))));
  EXPECT_THAT(detections[0].keypoints,
              ElementsAre(AllOf(PointNear(60, 75), Field(&Keypoint::name, "nose"))));
}

TEST(BlazeReader, PlacesTheLastAnchorsOfThePoseDetector) {
  // Layers of stride 8 and 16 have 1568 and 392 anchors. Number 1960 + 6·8 + 5 is the last of cell
  // (1,1) of the 7×7 grid: centre (1.5, 1.5)·32 = (48, 48).
  BlazeSettings settings = BlazeSettings::pose();
  settings.box = BlazeSettings::Box::network;
  MadeOutputs outputs = nothing_found(settings, MadeOutputs({224, 224}));
  put(outputs, 2013, 3, {0, 0, 20, 30, 1, 2, 3, 4, 5, 6, 7, 8});
  const Detections detections = BlazeReader(settings)(outputs);
  ASSERT_THAT(detections, ElementsAre(BoxNear(38, 33, 58, 63)));
  EXPECT_THAT(detections[0].keypoints, ElementsAre(PointNear(49, 50), PointNear(51, 52),
                                                   PointNear(53, 54), PointNear(55, 56)));
}

TEST(BlazeReader, DerivesTheFullBodyBoxFromTheCircleOfTheKeypoints) {
  // Cell (14,14) of stride 8, anchor (14·28 + 14)·2 = 812: centre (116, 116).
  MadeOutputs outputs = nothing_found(
      BlazeSettings::pose(), MadeOutputs({224, 224}, {448, 448}, {.x_scale = 2, .y_scale = 2}));
  put(outputs, 812, 3, {0, -20, 20, 20, -16, 4, 14, 44, 0, 0, 0, 0});
  // Centre (100, 120), rim (130, 160): radius 50.
  EXPECT_THAT(BlazeReader(BlazeSettings::pose())(outputs),
              ElementsAre(BoxNear(100, 140, 300, 340)));
}

TEST(BlazeReader, ClipsAFullBodyBoxToThePicture) {
  MadeOutputs outputs = nothing_found(BlazeSettings::pose(), MadeOutputs({224, 224}));
  put(outputs, 0, 3, {0, 0, 8, 8, 6, 6, 6, 36, 0, 0, 0, 0});  // centre (10, 10), radius 30
  BlazeSettings settings = BlazeSettings::pose();
  EXPECT_THAT(BlazeReader(settings)(outputs), ElementsAre(BoxNear(0, 0, 40, 40)));
  settings.filter.clip = false;
  EXPECT_THAT(BlazeReader(settings)(outputs), ElementsAre(BoxNear(-20, -20, 40, 40)));
}

TEST(BlazeReader, DropsAFullBodyBoxThatRoundingLeavesWithoutArea) {
  BlazeSettings settings = small();
  settings.keypoints = {"hip", "rim"};
  settings.box = BlazeSettings::Box::full_body;
  settings.filter.clip = false;
  MadeOutputs outputs = nothing_found(settings, MadeOutputs({16, 16}));
  put(outputs, 0, 3, {0, 0, 4, 4, 0, 1e30f, 8, 1e30f});  // 16 wide, at a height of 1e30
  EXPECT_THAT(BlazeReader(settings)(outputs), IsEmpty());
}

TEST(BlazeReader, BlendsOverlappingBoxesByTheirConfidence) {
  BlazeSettings settings = small();
  MadeOutputs outputs = nothing_found(settings, MadeOutputs({16, 16}));
  put(outputs, 0, logit(0.9), {0, 0, 4, 4, 0, 0});     // 2 2 6 6
  put(outputs, 1, logit(0.6), {0.5f, 0, 4, 4, 1, 2});  // 2.5 2 6.5 6
  put(outputs, 6, logit(0.8), {0, 0, 4, 4, 0, 0});     // no overlap
  const Detections blended = BlazeReader(settings)(outputs);
  // The box: (0.9·2 + 0.6·2.5) / 1.5 = 2.2; the keypoint: (0.9·4 + 0.6·5) / 1.5, 0.6·2 / 1.5 + 4.
  ASSERT_THAT(blended, ElementsAre(BoxNear(2.2, 2, 6.2, 6), BoxNear(10, 10, 14, 14)));
  EXPECT_NEAR(blended[0].confidence, 0.9, 1e-6);
  EXPECT_THAT(blended[0].keypoints, ElementsAre(PointNear(4.4, 4.8)));

  settings.suppression = BlazeSettings::Suppression::best;
  EXPECT_THAT(BlazeReader(settings)(outputs),
              ElementsAre(BoxNear(2, 2, 6, 6), BoxNear(10, 10, 14, 14)));
}

TEST(BlazeReader, KeepsAllAtAnOverlapOfOne) {
  for (const auto how : {BlazeSettings::Suppression::best, BlazeSettings::Suppression::weighted}) {
    BlazeSettings settings = small();
    settings.suppression = how;
    settings.filter.max_overlap = 1;
    MadeOutputs outputs = nothing_found(settings, MadeOutputs({16, 16}));
    put(outputs, 0, 2, {0, 0, 4, 4, 0, 0});
    put(outputs, 1, 1, {0, 0, 4, 4, 0, 0});
    EXPECT_THAT(BlazeReader(settings)(outputs), SizeIs(2));
  }
}

TEST(BlazeReader, ScalesAnchorsThatAreNotOfFixedSize) {
  BlazeSettings settings = small();
  settings.keypoints.clear();
  settings.anchors.fixed_size = false;
  settings.anchors.min_scale = settings.anchors.max_scale = 0.25;
  MadeOutputs outputs = nothing_found(settings, MadeOutputs({16, 16}));
  put(outputs, 0, 2, {4, 0, 16, 16});  // the first of cell (0,0): scale 0.25
  put(outputs, 7, 1, {0, 0, 16, 16});  // the second of cell (1,1): scale √(0.25·1) = 0.5
  // An offset of 4/16 of the anchor's width 4 is one pixel.
  EXPECT_THAT(BlazeReader(settings)(outputs),
              ElementsAre(BoxNear(3, 2, 7, 6), BoxNear(8, 8, 16, 16)));
}

TEST(BlazeReader, RoundsGridsUp) {
  BlazeSettings settings = small();
  settings.anchors.input = {20, 9};  // 3×2 cells
  EXPECT_EQ(BlazeReader(settings).anchor_count(), 12u);
  settings.anchors.aspect_ratios = {1, 2};
  EXPECT_EQ(BlazeReader(settings).anchor_count(), 18u);
  settings.anchors.interpolated_aspect_ratio = 0;
  EXPECT_EQ(BlazeReader(settings).anchor_count(), 12u);
}

TEST(BlazeReader, AppliesThresholdsZeroAndOne) {
  BlazeSettings settings = small();
  MadeOutputs outputs = nothing_found(settings, MadeOutputs({16, 16}));
  put(outputs, 0, 500, {0, 0, 4, 4, 0, 0});
  put(outputs, 6, -500, {0, 0, 4, 4, 0, 0});
  settings.filter.threshold = 0;
  EXPECT_THAT(BlazeReader(settings)(outputs), SizeIs(2));
  settings.filter.threshold = 1;  // a sigmoid of 100 is 1 in doubles
  EXPECT_THAT(BlazeReader(settings)(outputs), ElementsAre(Field(&Detection::confidence, 1.0)));
}

TEST(BlazeReader, DropsCandidatesWithBadNumbersAndSurvivesHugeOnes) {
  for (const auto box : {BlazeSettings::Box::network, BlazeSettings::Box::full_body}) {
    BlazeSettings settings = small();
    settings.keypoints = {"hip", "rim"};
    settings.box = box;
    MadeOutputs outputs =
        nothing_found(settings, MadeOutputs({16, 16}, {32, 24}, {.x_scale = 2, .y_scale = 1.5}));
    for (std::size_t i = 0; i < 8; ++i) put(outputs, i, 2, {0, 0, 4, 4, 1, 1, 4, 3});
    expect_bad_numbers_dropped(BlazeReader(settings), outputs, 0.5);
    expect_huge_numbers_survived(BlazeReader(settings), outputs, 0.5);
  }
}

TEST(BlazeReader, RefusesOtherShapes) {
  const BlazeReader reader(BlazeSettings::face_short_range());
  MadeOutputs full({128, 128});
  full.fill("regressors", {1, 2304, 16}, 0).fill("classificators", {1, 2304, 1}, 0);
  expect_refused(reader, full,
                 AllOf(HasSubstr("BlazeReader: output \"regressors\" has the shape [1,2304,16]; "
                                 "expected is [1,896,16]"),
                       HasSubstr("set anchors and keypoints to the model's")));
  MadeOutputs scores({128, 128});
  scores.fill("regressors", {1, 896, 16}, 0).fill("classificators", {1, 896, 2}, 0);
  expect_refused(reader, scores, HasSubstr("expected is [1,896,1]"));
  MadeOutputs one({128, 128});
  one.fill("regressors", {1, 896, 16}, 0);
  expect_refused(reader, one, HasSubstr("BlazeReader: the model has 1 outputs"));
}

TEST(BlazeReader, FindsOutputsByName) {
  BlazeSettings settings = small();
  settings.boxes = {"b", 0};
  settings.scores = {"s", 0};
  MadeOutputs outputs({16, 16});
  outputs.fill("s", {1, 8}, -9).fill("b", {8, 6}, 1);
  EXPECT_THAT(BlazeReader(settings)(outputs), IsEmpty());
  settings.scores.name = "t";
  expect_refused(BlazeReader(settings), outputs, HasSubstr("no output named \"t\"; it has: s, b"));
}

TEST(BlazeReader, RefusesBadSettings) {
  const auto bad = [](auto change, const std::string& message) {
    BlazeSettings settings = small();
    change(settings);
    expect_bad_setting([&] { BlazeReader reader(settings); }, HasSubstr(message));
  };
  bad([](BlazeSettings& s) { s.anchors.input = {0, 16}; }, "anchors.input's width");
  bad([](BlazeSettings& s) { s.anchors.input = {16, -1}; }, "anchors.input's height");
  bad([](BlazeSettings& s) { s.anchors.strides.clear(); }, "anchors.strides is empty");
  bad([](BlazeSettings& s) { s.anchors.strides = {8, -8}; }, "a stride must be within");
  bad([](BlazeSettings& s) { s.anchors.input = {65536, 65536}; }, "more than 10 million");
  bad([](BlazeSettings& s) { s.anchors.aspect_ratios = {0}; }, "an aspect ratio must be");
  bad([](BlazeSettings& s) { s.anchors.interpolated_aspect_ratio = kNan; }, "interpolated");
  bad([](BlazeSettings& s) { s.anchors.offset = 2; }, "anchors.offset 2.0 is not within");
  bad([](BlazeSettings& s) { s.anchors.min_scale = 0; }, "anchors.min_scale must be");
  bad([](BlazeSettings& s) { s.anchors.max_scale = kInfinity; }, "anchors.max_scale must be");
  bad([](BlazeSettings& s) { s.filter.threshold = -1; }, "threshold -1.0");
  bad([](BlazeSettings& s) { s.box = BlazeSettings::Box::full_body; },
      "a full-body box needs keypoints 0 and 1, and 1 are named");
}

}  // namespace
}  // namespace vcap
