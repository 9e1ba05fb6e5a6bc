// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/soft_non_max_suppression.hpp"

#include <cmath>
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
using Decay = SoftSuppression::Decay;

/// The loop of the paper, without optimisation.
std::vector<SoftScore> naive(const std::vector<BoundingBox>& boxes, std::vector<double> scores,
                             const SoftSuppression& settings) {
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < boxes.size(); ++i)
    if (scores[i] >= settings.min_score) left.push_back(i);
  std::vector<SoftScore> result;
  while (!left.empty()) {
    std::size_t best = left[0];
    for (const std::size_t i : left)
      if (scores[i] > scores[best]) best = i;
    result.push_back({best, scores[best]});
    std::erase(left, best);
    for (const std::size_t i : left) {
      const double overlap = iou(boxes[best], boxes[i]);
      if (settings.decay == Decay::gaussian)
        scores[i] *= std::exp(-overlap * overlap / settings.sigma);
      else if (overlap > settings.max_overlap)
        scores[i] *= 1 - overlap;
    }
    std::erase_if(left, [&](std::size_t i) { return scores[i] < settings.min_score; });
  }
  return result;
}

// The IoU of the first two boxes is 0.5. The third overlaps neither.
const std::vector<BoundingBox> kBoxes = {{0, 0, 10, 10}, {0, 0, 5, 10}, {20, 0, 30, 10}};
const std::vector<double> kScores = {0.9, 0.8, 0.7};

TEST(SoftNonMaxSuppression, LowersScoresByOneMinusTheOverlap) {
  EXPECT_THAT(soft_non_max_suppression(kBoxes, kScores, {.decay = Decay::linear}),
              ElementsAre(SoftScore{0, 0.9}, SoftScore{2, 0.7}, SoftScore{1, 0.4}));
}

TEST(SoftNonMaxSuppression, LowersNothingAtTheAllowedOverlap) {
  EXPECT_THAT(
      soft_non_max_suppression(kBoxes, kScores, {.decay = Decay::linear, .max_overlap = 0.5}),
      ElementsAre(SoftScore{0, 0.9}, SoftScore{1, 0.8}, SoftScore{2, 0.7}));
}

TEST(SoftNonMaxSuppression, LowersScoresByAGaussianOfTheOverlap) {
  const double lowered = 0.8 * std::exp(-0.25 / 0.5);
  EXPECT_THAT(soft_non_max_suppression(kBoxes, kScores),
              ElementsAre(SoftScore{0, 0.9}, SoftScore{2, 0.7}, SoftScore{1, lowered}));
}

TEST(SoftNonMaxSuppression, DropsBoxesBelowTheMinimumScore) {
  EXPECT_THAT(
      soft_non_max_suppression(kBoxes, kScores, {.decay = Decay::linear, .min_score = 0.41}),
      ElementsAre(SoftScore{0, 0.9}, SoftScore{2, 0.7}));
  EXPECT_THAT(soft_non_max_suppression(kBoxes, kScores, {.min_score = 0.95}), IsEmpty());
}

TEST(SoftNonMaxSuppression, DoesNotLowerScoresAcrossLabels) {
  EXPECT_THAT(soft_non_max_suppression(kBoxes, kScores, std::vector<std::size_t>{7, 8, 7}),
              ElementsAre(SoftScore{0, 0.9}, SoftScore{1, 0.8}, SoftScore{2, 0.7}));
}

TEST(SoftNonMaxSuppression, AgreesWithThePaperOnRandomBoxes) {
  std::mt19937 engine(5);
  std::uniform_real_distribution<double> position(0, 80), side(-1, 40);
  std::uniform_int_distribution<int> score(0, 20);
  for (int round = 0; round < 40; ++round) {
    std::vector<BoundingBox> boxes;
    std::vector<double> scores;
    for (int i = 0; i < 90; ++i) {
      const double x = std::floor(position(engine)), y = std::floor(position(engine));
      boxes.push_back({x, y, x + side(engine), y + side(engine)});
      scores.push_back(score(engine) / 20.0);
    }
    for (const auto& settings :
         {SoftSuppression{}, SoftSuppression{.sigma = 0.05, .min_score = 0.2},
          SoftSuppression{.decay = Decay::linear},
          SoftSuppression{.decay = Decay::linear, .max_overlap = 0, .min_score = 0}}) {
      const std::vector<SoftScore> expected = naive(boxes, scores, settings);
      const std::vector<SoftScore> result = soft_non_max_suppression(boxes, scores, settings);
      ASSERT_EQ(result.size(), expected.size()) << "round " << round;
      for (std::size_t i = 0; i < result.size(); ++i) {
        EXPECT_EQ(result[i].index, expected[i].index);
        EXPECT_DOUBLE_EQ(result[i].score, expected[i].score);
      }
    }
  }
}

TEST(SoftNonMaxSuppression, HandlesThousandsOfBoxesOfThousandsOfLabels) {
  std::vector<BoundingBox> boxes;
  std::vector<double> scores;
  std::vector<std::size_t> labels;
  for (std::size_t i = 0; i < 20'000; ++i) {
    boxes.push_back({0, 0, 10, 10});
    scores.push_back(1.0 - static_cast<double>(i % 2) / 10);
    labels.push_back(i / 2);
  }
  const auto result =
      soft_non_max_suppression(boxes, scores, labels, {.decay = Decay::linear, .min_score = 0.1});
  ASSERT_EQ(result.size(), boxes.size() / 2);
  for (std::size_t i = 0; i < result.size(); ++i) EXPECT_EQ(result[i], (SoftScore{2 * i, 1.0}));
}

TEST(SoftNonMaxSuppression, RefusesInvalidScoresAndSettings) {
  const auto message = [](double score, const SoftSuppression& settings) -> std::string {
    try {
      soft_non_max_suppression(kBoxes, std::vector{0.5, score, 0.5}, settings);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double score : {-0.1, inf, nan})
    EXPECT_THAT(message(score, {}), HasSubstr("score 1 is "));
  for (const double value : {-0.1, nan}) {
    EXPECT_THAT(message(0.5, {.max_overlap = value}), HasSubstr("max_overlap"));
    EXPECT_THAT(message(0.5, {.sigma = value}), HasSubstr("sigma"));
    EXPECT_THAT(message(0.5, {.min_score = value}), HasSubstr("min_score"));
  }
  EXPECT_THROW(soft_non_max_suppression(kBoxes, std::vector{0.5}), InvalidArgument);
  EXPECT_THROW(soft_non_max_suppression(kBoxes, kScores, std::vector<std::size_t>{1}),
               InvalidArgument);
}

}  // namespace
}  // namespace vcap
