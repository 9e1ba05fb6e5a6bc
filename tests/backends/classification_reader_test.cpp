// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/classification_reader.hpp"

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
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;
using Activation = ClassificationHead::Activation;

ClassificationHead colour(Activation activation) {
  return {.name = "color", .labels = {"red", "green", "blue"}, .activation = activation};
}

MadeOutputs scores(std::vector<float> values) {
  MadeOutputs outputs({9, 9});
  const std::size_t count = values.size();
  return outputs.add("scores", {1, count}, std::move(values));
}

/// The labels that a single head gives for these scores.
std::vector<ScoredLabel> labels(const ClassificationHead& head, std::vector<float> values) {
  return ClassificationReader({head})(scores(std::move(values))).at(0).labels;
}

auto scored(std::size_t index, const std::string& label, double confidence) {
  return AllOf(Field(&ScoredLabel::index, index), Field(&ScoredLabel::label, label),
               Field(&ScoredLabel::confidence, DoubleNear(confidence, 1e-7)));
}

TEST(ClassificationReader, TakesTheBestOfASoftmax) {
  // numpy: np.exp([1, 3, 2]) / np.exp([1, 3, 2]).sum() = [0.09003057, 0.66524096, 0.24472847].
  ClassificationHead head = colour(Activation::softmax);
  EXPECT_THAT(labels(head, {1, 3, 2}), ElementsAre(scored(1, "green", 0.66524096)));
  head.most = 0;
  EXPECT_THAT(labels(head, {1, 3, 2}),
              ElementsAre(scored(1, "green", 0.66524096), scored(2, "blue", 0.24472847),
                          scored(0, "red", 0.09003057)));
  head.most = 2;
  EXPECT_THAT(labels(head, {1, 3, 2}), SizeIs(2));
  head.threshold = 0.25;
  EXPECT_THAT(labels(head, {1, 3, 2}), SizeIs(1));
}

TEST(ClassificationReader, TakesSoftmaxesOfHugeNumbers) {
  const ClassificationHead head = colour(Activation::softmax);
  EXPECT_THAT(labels(head, {1e30f, -1e30f, 3e38f}), ElementsAre(scored(2, "blue", 1)));
  EXPECT_THAT(labels(head, {-3e38f, -3e38f, -3e38f}), ElementsAre(scored(0, "red", 1.0 / 3)));
}

TEST(ClassificationReader, TakesEachLabelAboveTheThresholdOfASigmoid) {
  ClassificationHead head = colour(Activation::sigmoid);
  head.threshold = 0.5;
  head.most = 0;
  EXPECT_THAT(labels(head, {1, -1, 2}),
              ElementsAre(scored(2, "blue", 0.88079708), scored(0, "red", 0.73105858)));
}

TEST(ClassificationReader, LeavesConfidencesUnchangedIfSet) {
  ClassificationHead head = colour(Activation::none);
  head.most = 0;
  EXPECT_THAT(labels(head, {0.25f, 1.5f, -0.5f}),
              ElementsAre(scored(1, "green", 1), scored(0, "red", 0.25), scored(2, "blue", 0)));
  head.threshold = 1;
  EXPECT_THAT(labels(head, {0.25f, 1.5f, -0.5f}), ElementsAre(scored(1, "green", 1)));
}

TEST(ClassificationReader, TakesTheEarlierOfEqualLabels) {
  EXPECT_THAT(labels(colour(Activation::none), {0.1f, 0.3f, 0.3f}),
              ElementsAre(scored(1, "green", 0.3f)));
}

TEST(ClassificationReader, DropsLabelsWithBadNumbers) {
  for (const float bad : kBadNumbers) {
    for (const Activation activation : {Activation::none, Activation::sigmoid}) {
      ClassificationHead head = colour(activation);
      head.most = 0;
      EXPECT_THAT(labels(head, {0.5f, bad, 0.25f}), SizeIs(2)) << bad;
    }
    EXPECT_THAT(labels(colour(Activation::softmax), {0.5f, bad, 0.25f}), IsEmpty()) << bad;
  }
}

TEST(ClassificationReader, ReadsHeadsFromSeparateAndFromSharedOutputs) {
  ClassificationHead kind{.name = "kind", .output = {"kind", 0}, .labels = {"car", "bus"}};
  ClassificationHead shared = colour(Activation::softmax);
  shared.first_score = 1;
  MadeOutputs outputs({9, 9});
  outputs.add("shared", {1, 5, 1, 1}, {9, 1, 1, 3, 9}).add("kind", {2}, {5, 1});
  const auto found = ClassificationReader({kind, shared})(outputs);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].name, "kind");
  EXPECT_EQ(found[0].labels.at(0).label, "car");
  EXPECT_EQ(found[1].labels.at(0).label, "blue");
  EXPECT_THAT(attributes(found), UnorderedElementsAre(Pair("kind", "car"), Pair("color", "blue")));
}

TEST(ClassificationReader, GivesNoAttributeForAHeadWithoutLabels) {
  ClassificationHead head = colour(Activation::softmax);
  head.threshold = 0.9;
  EXPECT_THAT(attributes(ClassificationReader({head})(scores({1, 1, 1}))), IsEmpty());
}

TEST(ClassificationReader, RefusesAWrongNumberOfLabels) {
  const ClassificationReader reader({colour(Activation::softmax)});
  expect_refused(reader, scores({1, 2, 3, 4}),
                 AllOf(HasSubstr("ClassificationReader: output \"scores\" has the shape [1,4]; "
                                 "expected is [1,3] for the labels of head \"color\""),
                       HasSubstr("give the list of labels that the model was trained with")));
  expect_refused(reader, scores({}), HasSubstr("expected is [1,3]"));
  MadeOutputs table({9, 9});
  expect_refused(ClassificationReader({{.name = "a", .labels = std::vector<std::string>(4, "x")}}),
                 table.fill("scores", {2, 2}, 0), HasSubstr("expected is [1,4]"));
  for (const std::size_t first : {std::size_t{2}, std::size_t{5}, std::size_t(-1)}) {
    ClassificationHead head = colour(Activation::softmax);
    head.first_score = first;
    expect_refused(ClassificationReader({head}), scores({1, 2, 3, 4}),
                   HasSubstr("[1,N] with 3 scores from score " + std::to_string(first) + " on"));
  }
}

TEST(ClassificationReader, RefusesBadSettings) {
  const auto bad = [](std::vector<ClassificationHead> heads, const std::string& message) {
    expect_bad_setting([&] { ClassificationReader reader(heads); }, HasSubstr(message));
  };
  bad({}, "no heads");
  bad({{.name = "color"}}, "head \"color\" has no labels");
  ClassificationHead head = colour(Activation::softmax);
  bad({head, head}, "two heads are named \"color\"");
  head.threshold = 1.5;
  bad({head}, "threshold of head \"color\" 1.5 is not within 0 to 1");
}

}  // namespace
}  // namespace vcap
