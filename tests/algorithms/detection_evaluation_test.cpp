// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/detection_evaluation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "support/throws_error.hpp"

namespace vcap {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using DetectionFrames = std::vector<DetectionFrame>;

BoundingBox xywh(double x, double y, double w, double h) { return {x, y, x + w, y + h}; }

auto Counts(std::int64_t right, std::int64_t wrong, std::int64_t missed) {
  return AllOf(Field("true positives", &DetectionScores::true_positives, right),
               Field("false positives", &DetectionScores::false_positives, wrong),
               Field("misses", &DetectionScores::misses, missed));
}

auto Point(double score, double precision, double recall) {
  return AllOf(Field(&PrecisionRecallPoint::score, score),
               Field(&PrecisionRecallPoint::precision, testing::DoubleEq(precision)),
               Field(&PrecisionRecallPoint::recall, testing::DoubleEq(recall)));
}

/// Two objects: the first is found twice, the second with an IoU of one half.
DetectionFrames two_objects() {
  return {{.truth = {{.box = xywh(0, 0, 10, 10)}, {.box = xywh(20, 0, 10, 10)}},
           .found = {{.box = xywh(20, 0, 10, 5), .score = 0.7},
                     {.box = xywh(0, 0, 10, 10), .score = 0.9},
                     {.box = xywh(0, 0, 10, 10), .score = 0.8}}}};
}

TEST(ScoreDetections, CountsAnObjectOnce) {
  const DetectionScores scores = score_detections(two_objects());
  EXPECT_THAT(scores, Counts(2, 1, 0));
  EXPECT_THAT(scores.precision, Optional(2.0 / 3));
  EXPECT_THAT(scores.recall, Optional(1.0));
  EXPECT_THAT(scores.f1, Optional(0.8));
}

TEST(ScoreDetections, RequiresTheGivenIou) {
  EXPECT_THAT(score_detections(two_objects(), 0.5), Counts(2, 1, 0));
  EXPECT_THAT(score_detections(two_objects(), 0.51), Counts(1, 2, 1));
  EXPECT_THAT(score_detections(two_objects(), 1), Counts(1, 2, 1));
}

TEST(ScoreDetections, LeavesOutScoresBelowTheThreshold) {
  EXPECT_THAT(score_detections(two_objects(), 0.5, 0.8), Counts(1, 1, 1));
  EXPECT_THAT(score_detections(two_objects(), 0.5, 0.81), Counts(1, 0, 1));
  EXPECT_THAT(score_detections(two_objects(), 0.5, 1), Counts(0, 0, 2));
}

TEST(ScoreDetections, HasNoRatioWithoutADenominator) {
  const DetectionScores nothing_found =
      score_detections(DetectionFrames{{.truth = {{.box = xywh(0, 0, 1, 1)}}}});
  EXPECT_EQ(nothing_found.precision, std::nullopt);
  EXPECT_THAT(nothing_found.recall, Optional(0.0));
  EXPECT_THAT(nothing_found.f1, Optional(0.0));
  const DetectionScores nothing = score_detections({});
  EXPECT_EQ(nothing.recall, std::nullopt);
  EXPECT_EQ(nothing.f1, std::nullopt);
}

TEST(ScoreDetections, DoesNotCountBoxesOnCrowdsAndIgnoredObjects) {
  const DetectionFrames frames{{.truth = {{.box = xywh(0, 0, 100, 100), .is_crowd = true},
                                          {.box = xywh(200, 0, 10, 10), .is_ignored = true}},
                                .found = {{.box = xywh(0, 0, 10, 10)},
                                          {.box = xywh(50, 50, 10, 10)},
                                          {.box = xywh(200, 0, 10, 10)},
                                          {.box = xywh(200, 0, 10, 10)}}}};
  // A crowd absorbs any number of boxes, an ignored object absorbs one.
  EXPECT_THAT(score_detections(frames), Counts(0, 1, 0));
}

TEST(ScoreDetections, PrefersAnObjectThatMustBeFound) {
  const DetectionFrames frames{
      {.truth = {{.box = xywh(0, 0, 10, 10), .is_ignored = true}, {.box = xywh(0, 0, 10, 6)}},
       .found = {{.box = xywh(0, 0, 10, 10)}}}};
  EXPECT_THAT(score_detections(frames), Counts(1, 0, 0));
}

TEST(ScoreDetections, DoesNotMatchAcrossFrames) {
  const DetectionFrames frames{{.truth = {{.box = xywh(0, 0, 10, 10)}}},
                               {.found = {{.box = xywh(0, 0, 10, 10)}}}};
  EXPECT_THAT(score_detections(frames), Counts(0, 1, 1));
}

TEST(PrecisionRecallCurve, HasAPointForEachScore) {
  EXPECT_THAT(precision_recall_curve(two_objects()),
              ElementsAre(Point(0.9, 1, 0.5), Point(0.8, 0.5, 0.5), Point(0.7, 2.0 / 3, 1)));
}

TEST(PrecisionRecallCurve, TakesBoxesOfEqualScoreTogether) {
  DetectionFrames frames = two_objects();
  for (ScoredBox& found : frames[0].found) found.score = 0.5;
  EXPECT_THAT(precision_recall_curve(frames), ElementsAre(Point(0.5, 2.0 / 3, 1)));
}

TEST(PrecisionRecallCurve, IsEmptyWithoutObjects) {
  EXPECT_THAT(precision_recall_curve(DetectionFrames{{.found = {{.box = xywh(0, 0, 1, 1)}}}}),
              IsEmpty());
}

TEST(AveragePrecision, ReadsPrecisionAt101Recalls) {
  const AveragePrecision figures = average_precision(two_objects());
  // 51 recalls up to 0.5 at a precision of 1, the 50 others at 2/3.
  ASSERT_TRUE(figures.ap_50);
  EXPECT_NEAR(*figures.ap_50, (51 + 50 * 2.0 / 3) / 101, 1e-12);
  // From 0.55 on, the second object is missed.
  ASSERT_TRUE(figures.ap_75);
  EXPECT_NEAR(*figures.ap_75, 51.0 / 101, 1e-12);
  ASSERT_TRUE(figures.ap);
  EXPECT_NEAR(*figures.ap, (*figures.ap_50 + 9 * *figures.ap_75) / 10, 1e-12);
  EXPECT_THAT(figures.ar_1, Optional(0.5));
  EXPECT_THAT(figures.ar_100, Optional(testing::DoubleEq((1 + 9 * 0.5) / 10)));
}

TEST(AveragePrecision, DividesObjectsByArea) {
  const DetectionFrames frames{
      {.truth = {{.box = xywh(0, 0, 10, 10), .area = 50.0 * 50}, {.box = xywh(100, 0, 100, 100)}},
       .found = {{.box = xywh(0, 0, 10, 10)}}}};
  const AveragePrecision figures = average_precision(frames);
  EXPECT_EQ(figures.ap_small, std::nullopt);
  EXPECT_THAT(figures.ap_medium, Optional(1.0));
  EXPECT_THAT(figures.ap_large, Optional(0.0));
  EXPECT_THAT(figures.ar_medium, Optional(1.0));
}

TEST(AveragePrecision, UsesTheBestHundredBoxesOfAFrame) {
  DetectionFrame frame{.truth = {{.box = xywh(0, 0, 10, 10)}}};
  for (int i = 0; i < 100; ++i) frame.found.push_back({.box = xywh(1000, 0, 10, 10), .score = 0.9});
  frame.found.push_back({.box = xywh(0, 0, 10, 10), .score = 0.1});
  EXPECT_THAT(average_precision(DetectionFrames{frame}).ar_100, Optional(0.0));
  frame.found.back().score = 1;
  EXPECT_THAT(average_precision(DetectionFrames{frame}).ar_100, Optional(1.0));
}

TEST(AveragePrecision, IsAbsentWithoutObjects) {
  EXPECT_EQ(average_precision({}).ap, std::nullopt);
  EXPECT_EQ(average_precision(DetectionFrames{{.found = {{.box = xywh(0, 0, 1, 1)}}}}).ap_50,
            std::nullopt);
}

TEST(MeanOverClasses, LeavesOutClassesWithoutTheFigure) {
  const std::vector<AveragePrecision> classes{{.ap = 0.5}, {.ap = 1.0, .ap_small = 0.25}, {}};
  const AveragePrecision mean = mean_over_classes(classes);
  EXPECT_THAT(mean.ap, Optional(0.75));
  EXPECT_THAT(mean.ap_small, Optional(0.25));
  EXPECT_EQ(mean.ap_large, std::nullopt);
}

TEST(DetectionEvaluation, NamesTheFrameOfAnInvalidValue) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const BoundingBox good = xywh(0, 0, 1, 1);
  const std::vector<std::pair<DetectionFrame, const char*>> cases{
      {{.truth = {{.box = {0, 0, nan, 1}}}}, "frame 1 has a box from (0.0, 0.0) to (NaN, 1.0)"},
      {{.found = {{.box = {5, 0, 4, 1}}}}, "frame 1 has a box from (5.0, 0.0) to (4.0, 1.0)"},
      {{.truth = {{.box = good, .area = -1.0}}}, "frame 1 has the area -1.0"},
      {{.found = {{.box = good, .score = nan}}}, "frame 1 has the score NaN"}};
  for (const auto& [frame, message] : cases) {
    const DetectionFrames frames{{}, frame};
    for (const auto& evaluate : std::vector<std::function<void()>>{
             [&] { score_detections(frames); }, [&] { precision_recall_curve(frames); },
             [&] { average_precision(frames); }})
      EXPECT_THAT(evaluate,
                  ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(message)));
  }
}

TEST(DetectionEvaluation, RefusesAnIouOutOfRange) {
  for (const double iou : {0.0, -0.5, 1.01, std::nan("")}) {
    EXPECT_THAT([&] { score_detections({}, iou); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("the IoU")));
    EXPECT_THAT([&] { precision_recall_curve({}, iou); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("the IoU")));
  }
}

}  // namespace
}  // namespace vcap
