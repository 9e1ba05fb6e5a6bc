// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/track_association.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vcap/algorithms/iou.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using State = TrackView::State;

constexpr double kNo = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
const std::optional<std::size_t> kNone;

/// The least cost over all assignments; rows and columns may stay unpaired.
double least(const cv::Mat1d& cost, double max_cost, int row = 0, unsigned taken = 0) {
  if (row == cost.rows) return 0;
  double best = least(cost, max_cost, row + 1, taken);
  for (int column = 0; column < cost.cols; ++column) {
    if ((taken >> column & 1u) != 0 || !(cost(row, column) < max_cost)) continue;
    best = std::min(
        best, cost(row, column) - max_cost + least(cost, max_cost, row + 1, taken | 1u << column));
  }
  return best;
}

TEST(AssignBelow, PairsAtTheLeastCost) {
  const cv::Mat1d cost = (cv::Mat1d(2, 2) << 0.1, 0.2, 0.2, 0.9);
  EXPECT_THAT(assign_below(cost, 1), ElementsAre(Pair(0, 1), Pair(1, 0)));
}

TEST(AssignBelow, PrefersOneGoodPairToTwoBadOnes) {
  const cv::Mat1d cost = (cv::Mat1d(2, 2) << 0.1, 0.8, 0.8, kNo);
  EXPECT_THAT(assign_below(cost, 1), ElementsAre(Pair(0, 0)));
  EXPECT_THAT(assign_below(cost, 2), ElementsAre(Pair(0, 1), Pair(1, 0)));
}

TEST(AssignBelow, PairsNothingAtTheCostLimit) {
  EXPECT_THAT(assign_below((cv::Mat1d(1, 1) << 0.5), 0.5), IsEmpty());
  EXPECT_THAT(assign_below((cv::Mat1d(1, 1) << 0.499), 0.5), ElementsAre(Pair(0, 0)));
  EXPECT_THAT(assign_below((cv::Mat1d(1, 1) << -2.0), -1), ElementsAre(Pair(0, 0)));
  EXPECT_THAT(assign_below(cv::Mat1d(3, 4, kNo), 1), IsEmpty());
  EXPECT_THAT(assign_below(cv::Mat1d(0, 4), 1), IsEmpty());
}

TEST(AssignBelow, AgreesWithExhaustiveSearchOnRandomCosts) {
  std::mt19937 engine(4);
  std::uniform_int_distribution<int> side(1, 6);
  std::uniform_real_distribution<double> value(0, 1), density(0.1, 1);
  for (int round = 0; round < 400; ++round) {
    cv::Mat1d cost(side(engine), side(engine));
    const double some = density(engine);
    for (double& c : cost) c = value(engine) < some ? value(engine) : kNo;
    double sum = 0;
    std::vector<int> columns;
    for (const auto& [row, column] : assign_below(cost, 0.7)) {
      ASSERT_LT(cost(row, column), 0.7);
      sum += cost(row, column) - 0.7;
      columns.push_back(column);
    }
    std::ranges::sort(columns);
    EXPECT_EQ(std::ranges::adjacent_find(columns), columns.end()) << "a column is used twice";
    EXPECT_NEAR(sum, least(cost, 0.7), 1e-9) << "round " << round;
  }
}

TEST(AssignBelow, RefusesInvalidCosts) {
  EXPECT_THROW(assign_below((cv::Mat1d(1, 1) << kNotANumber), 1), InvalidArgument);
  EXPECT_THROW(assign_below((cv::Mat1d(1, 1) << -kNo), 1), InvalidArgument);
  EXPECT_THROW(assign_below((cv::Mat1d(1, 1) << 0.5), kNo), InvalidArgument);
}

/// Tracks at given boxes. Owns the filters and encodings that the views borrow.
class TrackAssociation : public testing::Test {
 protected:
  void track(const BoundingBox& box, State state = State::tracked, std::vector<float> encoding = {},
             std::size_t label = 0) {
    filters_.push_back(std::make_unique<KalmanFilter>(box));
    encodings_.push_back(std::make_unique<std::vector<float>>(std::move(encoding)));
    views_.push_back({.filter = filters_.back().get(),
                      .state = state,
                      .encoding = *encodings_.back(),
                      .label = label});
  }

  /// Makes the last track's position uncertain.
  void coast(std::chrono::milliseconds time) {
    filters_.back()->coast(time, std::chrono::seconds(1));
  }

  std::vector<std::unique_ptr<KalmanFilter>> filters_;
  std::vector<std::unique_ptr<std::vector<float>>> encodings_;
  std::vector<TrackView> views_;
};

const BoundingBox kHere{100, 100, 140, 200};
const BoundingBox kNear{110, 100, 150, 200};    // IoU 0.6
const BoundingBox kBeside{130, 100, 170, 200};  // IoU 1/7
const BoundingBox kFar{600, 100, 640, 200};

using Cost = TrackAssociation;

TEST_F(Cost, IsOneMinusTheIouOfBoxesThatGrowByTheDeviation) {
  track(kHere);
  const std::vector<TrackedDetection> found = {{.box = kHere}, {.box = kNear}, {.box = kFar}};
  const cv::Mat1d cost = track_cost_matrix(views_, found, 0.2);
  EXPECT_EQ(cost(0, 0), 0);
  // Boxes grow by 3 pixels at each side: they share 36 × 106 of 56 × 106 pixels.
  EXPECT_NEAR(cost(0, 1), 1 - 36.0 / 56, 1e-9);
  EXPECT_EQ(cost(0, 2), kNo);
  EXPECT_NEAR(track_cost_matrix(views_, found, 0.2, {.max_growth = 0})(0, 1), 0.4, 1e-9);
}

TEST_F(Cost, ReachesFartherForUncertainTracks) {
  track(kHere);
  const std::vector<TrackedDetection> found = {{.box = kBeside}};
  EXPECT_EQ(track_cost_matrix(views_, found, 0.3)(0, 0), kNo);
  coast(std::chrono::milliseconds(500));
  EXPECT_LT(track_cost_matrix(views_, found, 0.3)(0, 0), 0.7);
  EXPECT_EQ(track_cost_matrix(views_, found, 0.3, {.max_growth = 0.1})(0, 0), kNo);
}

TEST_F(Cost, ForbidsOtherLabels) {
  track(kHere, State::tracked, {}, 1);
  EXPECT_EQ(track_cost_matrix(views_, std::vector<TrackedDetection>{{.box = kHere}}, 0.2)(0, 0),
            kNo);
}

TEST_F(Cost, MixesInTheDistanceOfEncodings) {
  track(kHere, State::tracked, {1, 0});
  const AssociationSettings settings{.appearance_weight = 0.4, .max_appearance_distance = 0.25};
  const float c = 0.9F, s = std::sqrt(1 - c * c);  // a cosine distance of 0.1
  const std::vector<TrackedDetection> found = {{.box = kHere, .encoding = {{5, 0}}},
                                               {.box = kHere, .encoding = {{c, s}}},
                                               {.box = kHere, .encoding = {{0, 2}}},
                                               {.box = kHere}};
  const cv::Mat1d cost = track_cost_matrix(views_, found, 0.2, settings);
  EXPECT_NEAR(cost(0, 0), 0, 1e-6);
  EXPECT_NEAR(cost(0, 1), 0.4 * 0.1 / 0.5, 1e-6);
  EXPECT_NEAR(cost(0, 2), 0.4, 1e-6) << "another encoding, but exactly the predicted place";
  EXPECT_EQ(cost(0, 3), 0);
}

TEST_F(Cost, ForbidsOtherEncodingsIfOnlyGrownBoxesOverlap) {
  track(kHere, State::lost, {1, 0});
  coast(std::chrono::milliseconds(500));
  const auto cost = [&](std::vector<float> looks) {
    return track_cost_matrix(
        views_, std::vector<TrackedDetection>{{.box = kBeside, .encoding = std::move(looks)}}, 0.3)(
        0, 0);
  };
  EXPECT_LT(cost({1, 0}), 1);
  EXPECT_EQ(cost({0, 1}), kNo);
}

TEST_F(Cost, FindsLostTracksByEncodingWithinReachOfTheirCentre) {
  for (const State state : {State::lost, State::tracked}) {
    track(kHere, state, {1, 0});
    coast(std::chrono::milliseconds(1500));
  }
  const std::vector<TrackedDetection> found = {{.box = {290, 100, 330, 200}, .encoding = {{1, 0}}},
                                               {.box = {290, 100, 330, 200}, .encoding = {{0, 1}}},
                                               {.box = {290, 100, 330, 200}},
                                               {.box = {900, 100, 940, 200}, .encoding = {{1, 0}}}};
  const cv::Mat1d cost = track_cost_matrix(views_, found, 0.25);
  EXPECT_NEAR(cost(0, 0), 0.6, 1e-6);
  EXPECT_EQ(cost(0, 1), kNo) << "another encoding";
  EXPECT_EQ(cost(0, 2), kNo) << "no encoding";
  EXPECT_EQ(cost(0, 3), kNo) << "too far for any speed";
  EXPECT_EQ(cost(1, 0), kNo) << "not lost";
}

TEST_F(TrackAssociation, GivesEachDetectionItsTrack) {
  track(kFar);
  track(kHere);
  EXPECT_THAT(associate_in_stages(views_,
                                  std::vector<TrackedDetection>{
                                      {.box = kNear}, {.box = {0, 0, 9, 9}}, {.box = kFar}}),
              ElementsAre(1, kNone, 0));
}

TEST_F(TrackAssociation, GivesConfidentDetectionsTheFirstChoice) {
  track(kHere);
  const std::vector<TrackedDetection> found = {{.box = kHere, .confidence = 0.3},
                                               {.box = kNear, .confidence = 0.5}};
  EXPECT_THAT(associate_in_stages(views_, found), ElementsAre(kNone, 0));
  EXPECT_THAT(associate_in_stages(views_, found, {.high_confidence = 0.6}), ElementsAre(0, kNone));
}

TEST_F(TrackAssociation, ContinuesConfirmedTracksByUnsureDetectionsThatOverlapMuch) {
  track(kHere, State::lost);
  track(kFar, State::tentative);
  coast(std::chrono::milliseconds(500));
  for (const auto& [box, confidence, expected] :
       {std::tuple{kNear, 0.3, std::optional<std::size_t>(0)},
        {kBeside, 0.3, kNone},
        {kNear, 0.05, kNone},
        {kFar, 0.3, kNone}})
    EXPECT_THAT(associate_in_stages(
                    views_, std::vector<TrackedDetection>{{.box = box, .confidence = confidence}}),
                ElementsAre(expected));
}

TEST_F(TrackAssociation, GivesTentativeTracksTheRemainingDetections) {
  track(kHere, State::tentative);
  track(kNear, State::lost);
  const std::vector<TrackedDetection> one = {{.box = kHere}};
  EXPECT_THAT(associate_in_stages(views_, one), ElementsAre(1));
  const std::vector<TrackedDetection> two = {{.box = kHere}, {.box = kNear}};
  EXPECT_THAT(associate_in_stages(views_, two), ElementsAre(0, 1));
}

TEST_F(TrackAssociation, IsEmptyWithoutTracksAndDetections) {
  EXPECT_THAT(associate_in_stages({}, {}), IsEmpty());
  EXPECT_THAT(associate_in_stages({}, std::vector<TrackedDetection>{{.box = kHere}}),
              ElementsAre(kNone));
  track(kHere);
  EXPECT_THAT(associate_in_stages(views_, {}), IsEmpty());
}

TEST_F(TrackAssociation, NamesEncodingsThatCannotBeCompared) {
  track(kHere, State::tracked, {1, 0});
  const auto message = [&](std::vector<float> encoding) -> std::string {
    try {
      associate_in_stages(views_, std::vector<TrackedDetection>{
                                      {.box = kFar}, {.box = kHere, .encoding = encoding}});
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(message({1, 0, 0}),
              HasSubstr("detection 1 has an encoding of 3 elements, but an earlier one has"));
  EXPECT_THAT(message({0, 0}), HasSubstr("detection 1 has an encoding that is all zeros"));
  EXPECT_THAT(message({1, std::numeric_limits<float>::quiet_NaN()}), HasSubstr("not finite"));
}

TEST_F(TrackAssociation, NamesSettingsOutOfRange) {
  const auto message = [](const AssociationSettings& settings) -> std::string {
    try {
      associate_in_stages({}, {}, settings);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  for (const double value : {-0.1, 1.1, kNotANumber}) {
    EXPECT_THAT(message({.high_confidence = value}), HasSubstr("high_confidence"));
    EXPECT_THAT(message({.low_confidence = value}), HasSubstr("low_confidence"));
    EXPECT_THAT(message({.min_iou = value}), HasSubstr("min_iou "));
    EXPECT_THAT(message({.min_iou_low = value}), HasSubstr("min_iou_low"));
    EXPECT_THAT(message({.min_iou_tentative = value}), HasSubstr("min_iou_tentative"));
    EXPECT_THAT(message({.appearance_weight = value}), HasSubstr("appearance_weight"));
  }
  for (const double value : {0.0, 2.1, kNotANumber})
    EXPECT_THAT(message({.max_appearance_distance = value}), HasSubstr("max_appearance_distance"));
  EXPECT_THAT(message({.max_growth = -1}), HasSubstr("max_growth -1.0"));
}

}  // namespace
}  // namespace vcap
