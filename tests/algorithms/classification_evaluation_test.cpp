// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/classification_evaluation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vcap {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

TEST(ScoreClassification, CountsEachPairOfTrueAndFoundLabels) {
  const std::vector<ClassifiedSample> samples{
      {"dog", "dog"}, {"cat", "cat"}, {"cat", "dog"}, {"cat", "fox"}, {"dog", std::nullopt}};
  const ClassificationScores scores = score_classification(samples);

  ASSERT_EQ(scores.classes.size(), 3u);
  EXPECT_EQ(scores.classes[0].label, "cat");
  EXPECT_EQ(scores.classes[1].label, "dog");
  EXPECT_EQ(scores.classes[2].label, "fox");
  EXPECT_THAT(scores.confusion,
              ElementsAre(ElementsAre(1, 1, 1), ElementsAre(0, 1, 0), ElementsAre(0, 0, 0)));
  EXPECT_THAT(scores.not_found, ElementsAre(0, 1, 0));
  EXPECT_EQ(scores.samples, 5);
  EXPECT_EQ(scores.right, 2);
  EXPECT_THAT(scores.accuracy, Optional(0.4));

  EXPECT_EQ(scores.classes[0].samples, 3);
  EXPECT_THAT(scores.classes[0].precision, Optional(1.0));
  EXPECT_THAT(scores.classes[0].recall, Optional(DoubleEq(1.0 / 3)));
  EXPECT_THAT(scores.classes[0].f1, Optional(0.5));
  EXPECT_THAT(scores.classes[1].precision, Optional(0.5));
  EXPECT_THAT(scores.classes[1].recall, Optional(0.5));
  EXPECT_THAT(scores.classes[2].precision, Optional(0.0));
  EXPECT_EQ(scores.classes[2].recall, std::nullopt);
}

TEST(ScoreClassification, AveragesOverTheClassesThatOccurInTheTruth) {
  const std::vector<ClassifiedSample> samples{{"a", "a"}, {"a", "c"}, {"b", "a"}};
  const ClassificationScores scores = score_classification(samples);
  EXPECT_THAT(scores.macro_precision, Optional(0.25));  // 1/2 and no value
  EXPECT_THAT(scores.macro_recall, Optional(0.25));     // 1/2 and 0
  EXPECT_THAT(scores.macro_f1, Optional(0.25));         // 1/2 and 0
}

TEST(ScoreClassification, HasNoFiguresWithoutSamples) {
  const ClassificationScores scores = score_classification({});
  EXPECT_THAT(scores.classes, IsEmpty());
  EXPECT_EQ(scores.accuracy, std::nullopt);
  EXPECT_EQ(scores.macro_f1, std::nullopt);
}

}  // namespace
}  // namespace vcap
