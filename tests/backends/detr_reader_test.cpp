// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/detr_reader.hpp"

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

constexpr auto kSigmoid = DetrSettings::Scores::sigmoid;

TEST(DetrReader, TakesTheSoftmaxOverTheClassesAndNoObject) {
  MadeOutputs outputs = letterboxed();
  outputs.add("logits", {1, 3, 3}, {2, 1, 0, 0, 3, 1, 1, 2, 5});
  outputs.add("pred_boxes", {1, 3, 4},
              {0.5f, 0.5f, 0.25f, 0.5f, 0.25f, 0.25f, 0.125f, 0.125f, 0.5f, 0.5f, 1, 1});
  // numpy: np.exp([2, 1, 0]) / np.exp([2, 1, 0]).sum() = 0.66524096 …; of [0, 3, 1]: 0.84379473.
  EXPECT_THAT(DetrReader({.classes = 2})(outputs),
              ElementsAre(AllOf(Field(&Detection::label, 1), BoxNear(120, 40, 200, 120),
                                Field(&Detection::confidence, DoubleNear(0.84379473, 1e-7))),
                          AllOf(Field(&Detection::label, 0), BoxNear(240, 80, 400, 400),
                                Field(&Detection::confidence, DoubleNear(0.66524096, 1e-7)))));
}

TEST(DetrReader, TakesTheSigmoidOfEachClass) {
  MadeOutputs outputs({100, 100});
  outputs.add("logits", {1, 2, 2}, {1, 2, -1, -3});
  outputs.add("boxes", {1, 2, 4}, {0.5f, 0.5f, 0.2f, 0.2f, 0.5f, 0.5f, 0.2f, 0.2f});
  const DetrReader reader({.scores = kSigmoid, .classes = 2});
  EXPECT_THAT(reader(outputs),
              ElementsAre(AllOf(Field(&Detection::label, 1), BoxNear(40, 40, 60, 60),
                                Field(&Detection::confidence, DoubleNear(0.88079708, 1e-7)))));
}

TEST(DetrReader, AppliesThresholdsZeroAndOneAndGivesNothingForNoQueries) {
  MadeOutputs outputs({100, 100});
  outputs.add("logits", {1, 2, 1}, {200, -200});
  outputs.add("boxes", {1, 2, 4}, {0.5f, 0.5f, 0.2f, 0.2f, 0.5f, 0.5f, 0.2f, 0.2f});
  DetrSettings settings{.scores = kSigmoid, .classes = 1};
  settings.filter.threshold = 0;
  EXPECT_THAT(DetrReader(settings)(outputs), SizeIs(2));
  settings.filter.threshold = 1;
  EXPECT_THAT(DetrReader(settings)(outputs), SizeIs(1));
  MadeOutputs none({100, 100});
  none.add("logits", {1, 0, 1}, {}).add("boxes", {1, 0, 4}, {});
  EXPECT_THAT(DetrReader(settings)(none), IsEmpty());
}

TEST(DetrReader, DropsQueriesWithBadNumbersAndSurvivesHugeOnes) {
  for (const auto scores : {DetrSettings::Scores::softmax, kSigmoid}) {
    for (const double threshold : {0.0, 0.5}) {
      MadeOutputs outputs({100, 100}, {50, 60}, {.x_scale = 0.5, .y_scale = 0.6});
      const std::size_t columns = scores == kSigmoid ? 2 : 3;
      outputs.fill("logits", {1, 2, columns}, 0.5f).fill("boxes", {1, 2, 4}, 0.5f);
      outputs.value(0, 0) = outputs.value(0, columns + 1) = 4;
      DetrSettings settings{.scores = scores, .classes = 2};
      settings.filter.threshold = threshold;
      ASSERT_THAT(DetrReader(settings)(outputs), SizeIs(2));
      expect_bad_numbers_dropped(DetrReader(settings), outputs, threshold);
      expect_huge_numbers_survived(DetrReader(settings), outputs, threshold);
    }
  }
}

TEST(DetrReader, RefusesOtherShapesAndSettings) {
  MadeOutputs outputs({9, 9});
  outputs.fill("logits", {1, 10, 92}, 0).fill("boxes", {1, 10, 4}, 0);
  EXPECT_THAT(DetrReader({.classes = 91})(outputs), IsEmpty());
  expect_refused(
      DetrReader({.classes = 92}), outputs,
      AllOf(HasSubstr("DetrReader: output \"logits\" has the shape [1,10,92]; expected is "
                      "[1,Q,93] for 92 classes and \"no object\""),
            HasSubstr("set classes and scores to the model's")));
  expect_refused(DetrReader({.scores = kSigmoid, .classes = 91}), outputs,
                 HasSubstr("expected is [1,Q,91] for 91 classes;"));
  MadeOutputs fewer({9, 9});
  fewer.fill("logits", {1, 10, 92}, 0).fill("boxes", {1, 9, 4}, 0);
  expect_refused(DetrReader({.classes = 91}), fewer, HasSubstr("expected is [1,10,4]"));
  expect_bad_setting([] { DetrReader reader({.classes = 0}); }, HasSubstr("DetrReader: classes"));
  expect_bad_setting([] { DetrReader reader({.filter = {.max_overlap = -1}}); },
                     HasSubstr("max_overlap -1.0"));
}

}  // namespace
}  // namespace vcap
