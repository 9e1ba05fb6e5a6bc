// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/tracking_evaluation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "support/throws_error.hpp"

namespace vcap {
namespace {

using testing::DoubleEq;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;
using TrackingFrames = std::vector<TrackingFrame>;

BoundingBox box_of(double x, double y, double w, double h) { return {x, y, x + w, y + h}; }
const BoundingBox kLeft = box_of(0, 0, 10, 10), kRight = box_of(100, 0, 10, 10);

/// Two objects over four frames. Their ids are swapped after two frames.
TrackingFrames swapped() {
  TrackingFrames frames;
  for (int i = 0; i < 4; ++i)
    frames.push_back({.truth = {{1, kLeft}, {2, kRight}},
                      .found = {{i < 2 ? 10 : 20, kLeft}, {i < 2 ? 20 : 10, kRight}}});
  return frames;
}

TEST(CountTracking, CountsASwapAsASwitchOfEachObject) {
  const TrackingCounts counts = count_tracking(swapped());
  EXPECT_EQ(counts.matches, 8);
  EXPECT_EQ(counts.id_switches, 2);
  EXPECT_EQ(counts.fragmentations, 0);
  EXPECT_EQ(counts.mostly_tracked, 2);
  EXPECT_EQ(counts.identity_matches, 4);
  const TrackingScores scores = tracking_scores(counts);
  EXPECT_THAT(scores.mota, Optional(0.75));  // (8 - 0 - 2) / 8
  EXPECT_THAT(scores.motp, Optional(1.0));
  EXPECT_THAT(scores.idf1, Optional(0.5));
  EXPECT_THAT(scores.id_precision, Optional(0.5));
  EXPECT_THAT(scores.id_recall, Optional(0.5));
}

TEST(CountTracking, WeighsAssociationByTheFramesThatTwoTracksShare) {
  const TrackingScores scores = tracking_scores(count_tracking(swapped()));
  // Each pair of tracks shares 2 frames; together they have 6.
  EXPECT_THAT(scores.det_a_at, Each(DoubleEq(1)));
  EXPECT_THAT(scores.ass_a_at, Each(DoubleEq(1.0 / 3)));
  EXPECT_EQ(scores.hota_at.size(), TrackingCounts::kIous);
  EXPECT_NEAR(scores.hota.value(), std::sqrt(1.0 / 3), 1e-12);
  EXPECT_NEAR(scores.ass_recall.value(), 0.5, 1e-12);
  EXPECT_NEAR(scores.ass_precision.value(), 0.5, 1e-12);
  EXPECT_NEAR(scores.loc_a.value(), 1, 1e-12);
}

TEST(CountTracking, ComputesHotaAtEachIou) {
  // The IoU is one half: it matches at 0.05 to 0.5, ten of the nineteen thresholds.
  const TrackingFrames frames{{.truth = {{1, kLeft}}, .found = {{1, box_of(0, 0, 10, 5)}}}};
  const TrackingScores scores = tracking_scores(count_tracking(frames));
  EXPECT_NEAR(scores.hota.value(), 10.0 / 19, 1e-12);
  EXPECT_NEAR(scores.loc_a.value(), (10 * 0.5 + 9) / 19, 1e-12);
  EXPECT_THAT(scores.hota_at[9], DoubleEq(1));
  EXPECT_THAT(scores.hota_at[10], DoubleEq(0));
}

TEST(CountTracking, CountsTheInterruptionsOfATrack) {
  TrackingFrames frames;
  for (int i = 0; i < 5; ++i)
    frames.push_back({.truth = {{1, kLeft}}, .found = {{7, i == 2 ? kRight : kLeft}}});
  const TrackingCounts counts = count_tracking(frames);
  EXPECT_EQ(counts.fragmentations, 1);
  EXPECT_EQ(counts.id_switches, 0);
  EXPECT_EQ(counts.partly_tracked, 1) << "four of five frames are not more than 80 %";
  EXPECT_NEAR(tracking_scores(counts).mota.value(), 0.6, 1e-12);  // (4 - 1 - 0) / 5
}

TEST(CountTracking, CountsNoFragmentationForAFrameWithoutBoxes) {
  TrackingFrames frames(3, {.truth = {{1, kLeft}}, .found = {{7, kLeft}}});
  frames[1].found.clear();
  EXPECT_EQ(count_tracking(frames).fragmentations, 0);
}

TEST(CountTracking, KeepsAMatchWhileItIsGoodEnough) {
  TrackingFrames frames(2, {.truth = {{1, kLeft}}, .found = {{10, kLeft}}});
  frames[1].found = {{10, box_of(0, 0, 10, 6)}, {20, kLeft}};
  const TrackingCounts kept = count_tracking(frames, 0.5);
  EXPECT_EQ(kept.id_switches, 0);
  EXPECT_NEAR(kept.iou_sum, 1.6, 1e-12);
  const TrackingCounts switched = count_tracking(frames, 0.7);
  EXPECT_EQ(switched.id_switches, 1);
  EXPECT_NEAR(switched.iou_sum, 2, 1e-12);
}

TEST(CountTracking, CountsASwitchAfterAGapToo) {
  TrackingFrames frames(3, {.truth = {{1, kLeft}}, .found = {{10, kLeft}}});
  frames[1].found = {{10, kRight}};
  frames[2].found = {{20, kLeft}};
  EXPECT_EQ(count_tracking(frames).id_switches, 1);
}

TEST(CountTracking, LeavesOutBoxesThatMatchADistractor) {
  const TrackingFrames frames{{.truth = {{1, kLeft, TruthRole::distractor},
                                         {2, kRight, TruthRole::bystander},
                                         {3, box_of(200, 0, 10, 10)}},
                               .found = {{1, kLeft}, {2, kRight}, {3, box_of(200, 0, 10, 10)}}}};
  const TrackingCounts counts = count_tracking(frames);
  EXPECT_EQ(counts.truth_boxes, 1);
  EXPECT_EQ(counts.found_boxes, 2) << "a box that matches an object of another class is wrong";
  EXPECT_EQ(counts.matches, 1);
  EXPECT_THAT(counts.truth_lengths, ElementsAre(1));
}

TEST(CountTracking, GivesTheLengthsOfTracks) {
  TrackingFrames frames(4, {.truth = {{1, kLeft}}, .found = {{1, kLeft}}});
  frames[0].truth.push_back({2, kRight});
  for (int i = 0; i < 3; ++i)
    frames[static_cast<std::size_t>(i)].found.push_back({i < 2 ? 5 : 6, kRight});
  const TrackingScores scores = tracking_scores(count_tracking(frames));
  EXPECT_THAT(scores.median_truth_length, Optional(2.5));  // 1, 4
  EXPECT_THAT(scores.median_found_length, Optional(2.0));  // 1, 2, 4
}

TEST(CountTracking, GroupsObjectsByTheShareOfTheirMatchedFrames) {
  TrackingFrames frames(10);
  for (int i = 0; i < 10; ++i) {
    TrackingFrame& frame = frames[static_cast<std::size_t>(i)];
    for (int object = 0; object < 4; ++object)
      frame.truth.push_back({object, box_of(100 * object, 0, 10, 10)});
    // The objects are found in 9, 8, 2 and 1 of ten frames.
    for (int object = 0; object < 4; ++object)
      if (i < std::array{9, 8, 2, 1}[static_cast<std::size_t>(object)])
        frame.found.push_back({object, box_of(100 * object, 0, 10, 10)});
  }
  const TrackingCounts counts = count_tracking(frames);
  EXPECT_EQ(counts.mostly_tracked, 1);
  EXPECT_EQ(counts.partly_tracked, 2);
  EXPECT_EQ(counts.mostly_lost, 1);
}

TEST(CountTracking, AddsUpOverSequences) {
  const TrackingCounts one = count_tracking(swapped());
  TrackingCounts both = one;
  both += count_tracking(TrackingFrames{{.truth = {{1, kLeft}}, .found = {{1, kLeft}}}});
  EXPECT_EQ(both.truth_boxes, 9);
  EXPECT_EQ(both.matches, 9);
  EXPECT_EQ(both.identity_matches, 5);
  EXPECT_THAT(both.truth_lengths, ElementsAre(4, 4, 1));
  const TrackingScores scores = tracking_scores(both);
  EXPECT_NEAR(scores.mota.value(), 7.0 / 9, 1e-12);
  EXPECT_THAT(scores.ass_a_at, Each(DoubleEq((8 * 1.0 / 3 + 1) / 9)));
}

TEST(TrackingScores, AreAbsentWithoutADenominator) {
  const TrackingScores nothing = tracking_scores({});
  EXPECT_EQ(nothing.mota, std::nullopt);
  EXPECT_EQ(nothing.hota, std::nullopt);
  EXPECT_EQ(nothing.idf1, std::nullopt);
  EXPECT_EQ(nothing.median_truth_length, std::nullopt);
  const TrackingScores nothing_found =
      tracking_scores(count_tracking(TrackingFrames{{.truth = {{1, kLeft}}}}));
  EXPECT_THAT(nothing_found.mota, Optional(0.0));
  EXPECT_THAT(nothing_found.hota, Optional(0.0));
  EXPECT_EQ(nothing_found.motp, std::nullopt);
  EXPECT_EQ(nothing_found.precision, std::nullopt);
}

TEST(CountTracking, NeedsNoMemoryForTracksThatNeverMeet) {
  // A full matrix of these tracks would have 2.5e9 elements.
  TrackingFrames frames;
  for (int i = 0; i < 50'000; ++i)
    frames.push_back({.truth = {{i, kLeft}}, .found = {{i + 7, kLeft}}});
  const TrackingCounts counts = count_tracking(frames);
  EXPECT_EQ(counts.identity_matches, 50'000);
  EXPECT_EQ(counts.mostly_tracked, 50'000);
}

TEST(CountTracking, NamesTheFrameOfAnInvalidValue) {
  const double nan = std::nan("");
  const std::vector<std::pair<TrackingFrame, const char*>> cases{
      {{.truth = {{5, kLeft}, {5, kRight}}}, "frame 1 has the id 5 twice in what is true"},
      {{.found = {{5, kLeft}, {5, kRight}}}, "frame 1 has the id 5 twice in what was found"},
      {{.truth = {{5, {0, nan, 1, 1}}}}, "frame 1 has a box from (0.0, NaN)"},
      {{.found = {{5, {0, 1, 1, 0}}}}, "frame 1 has a box from (0.0, 1.0) to (1.0, 0.0)"}};
  for (const auto& [frame, message] : cases) {
    const TrackingFrames frames{{}, frame};
    EXPECT_THAT([&] { count_tracking(frames); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(message)));
  }
  EXPECT_THAT([] { count_tracking({}, 0); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("the IoU 0.0")));
}

}  // namespace
}  // namespace vcap
