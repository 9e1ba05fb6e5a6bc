// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/ssd_reader.hpp"

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

auto labelled(std::size_t label, double confidence) {
  return AllOf(Field(&Detection::label, label),
               Field(&Detection::confidence, DoubleNear(confidence, 1e-6)));
}

TEST(SsdReader, ReadsRowsUntilANegativeImageNumber) {
  MadeOutputs outputs = letterboxed();
  outputs.add("detection_out", {1, 1, 4, 7}, {0,  1, 0.6f,  0.25f, 0.25f, 0.5f,  0.5f,   //
                                              0,  2, 0.9f,  0.5f,  0.5f,  0.75f, 0.75f,  //
                                              -1, 0, 0,     0,     0,     0,     0,      //
                                              0,  1, 0.95f, 0.1f,  0.1f,  0.9f,  0.9f});
  // 0.25·320 = 80 pixels of the input: x 160, y 80 of the picture.
  EXPECT_THAT(SsdReader({.classes = 3})(outputs),
              ElementsAre(AllOf(labelled(2, 0.9), BoxNear(320, 240, 480, 400)),
                          AllOf(labelled(1, 0.6), BoxNear(160, 80, 320, 240))));
}

TEST(SsdReader, SubtractsTheLabelOffsetAndDropsTheBackground) {
  MadeOutputs outputs({100, 100});
  outputs.add("o", {2, 7}, {0, 0, 0.9f, 0, 0, 1, 1, 0, 1, 0.8f, 0, 0, 1, 1});
  EXPECT_THAT(SsdReader({.classes = 1, .label_offset = 1})(outputs), ElementsAre(labelled(0, 0.8)));
  expect_refused(SsdReader({.classes = 1}), outputs,
                 HasSubstr("SsdReader: the model gave label 1.0, but the list has 1 labels"));
}

TEST(SsdReader, SuppressesNothingByDefault) {
  MadeOutputs outputs({100, 100});
  outputs.add("o", {1, 1, 2, 7}, {0, 0, 0.9f, 0, 0, 1, 1, 0, 0, 0.8f, 0, 0, 1, 1});
  EXPECT_THAT(SsdReader(SsdSettings{})(outputs), SizeIs(2));
  EXPECT_THAT(SsdReader({.filter = {.max_overlap = 0.5}})(outputs), SizeIs(1));
}

TEST(SsdReader, GivesNothingForNoRowsAndAppliesThresholds) {
  EXPECT_THAT(SsdReader(SsdSettings{})(MadeOutputs({9, 9}).add("o", {1, 1, 0, 7}, {})), IsEmpty());
  MadeOutputs outputs({100, 100});
  outputs.add("o", {1, 1, 2, 7}, {0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1});
  EXPECT_THAT(SsdReader({.filter = {.threshold = 0, .max_overlap = 1}})(outputs), SizeIs(2));
  EXPECT_THAT(SsdReader({.filter = {.threshold = 1, .max_overlap = 1}})(outputs), SizeIs(1));
}

TEST(SsdReader, DropsRowsWithBadNumbersAndSurvivesHugeOnes) {
  MadeOutputs outputs({100, 100}, {50, 50}, {.x_scale = 0.5, .y_scale = 0.5});
  outputs.add("o", {1, 1, 2, 7}, {0, 0, 1, 0, 0, 1, 1, 0, 1, 0.9f, 0, 0, 1, 1});
  const SsdReader reader({.classes = 2, .filter = {.threshold = 0, .max_overlap = 1}});
  expect_bad_numbers_dropped(reader, outputs, 0);
  expect_huge_numbers_survived(reader, outputs, 0);
}

TEST(SsdReader, RefusesOtherShapesAndSettings) {
  for (const std::vector<std::size_t>& shape :
       {std::vector<std::size_t>{1, 1, 10, 6}, {1, 2, 10, 7}, {7}}) {
    MadeOutputs outputs({9, 9});
    outputs.fill("detection_out", shape, 0);
    expect_refused(SsdReader(SsdSettings{}), outputs,
                   AllOf(HasSubstr("SsdReader: output \"detection_out\" has the shape"),
                         HasSubstr("expected is [1,1,N,7]")));
  }
  expect_bad_setting([] { SsdReader reader({.classes = 0}); }, HasSubstr("classes must be"));
  expect_bad_setting([] { SsdReader reader({.filter = {.threshold = 2}}); },
                     HasSubstr("threshold 2.0"));
}

MadeOutputs tf_outputs() {
  MadeOutputs outputs = letterboxed();
  return outputs
      .add("boxes", {1, 3, 4}, {0.25f, 0.5f, 0.5f, 0.75f, 0.5f, 0, 0.75f, 1, 0.25f, 0, 1, 1})
      .add("classes", {1, 3}, {1, 0, 1})
      .add("scores", {1, 3}, {0.7f, 0.8f, 0.9f})
      .add("count", {1}, {2});
}

TEST(TfDetectionReader, ReadsAsManyDetectionsAsTheCountSays) {
  EXPECT_THAT(TfDetectionReader({.classes = 2})(tf_outputs()),
              ElementsAre(AllOf(labelled(0, 0.8), BoxNear(0, 240, 640, 400)),
                          AllOf(labelled(1, 0.7), BoxNear(320, 80, 480, 240))));
}

TEST(TfDetectionReader, ReadsAllWithoutACountAndFindsOutputsByName) {
  MadeOutputs outputs = tf_outputs();
  const TfDetectionSettings by_name{.boxes = {"boxes"},
                                    .classes_of = {"classes"},
                                    .scores = {"scores"},
                                    .count = std::nullopt,
                                    .classes = 2};
  EXPECT_THAT(TfDetectionReader(by_name)(outputs), SizeIs(3));
  MadeOutputs shuffled({320, 320});
  shuffled.add("scores", {1, 1, 1}, {0.7f})
      .add("classes", {1, 1}, {1})
      .add("boxes", {1, 4}, {0, 0, 1, 1});
  EXPECT_THAT(TfDetectionReader(by_name)(shuffled), ElementsAre(labelled(1, 0.7)));
}

TEST(TfDetectionReader, SubtractsTheLabelOffset) {
  EXPECT_THAT(TfDetectionReader({.classes = 1, .label_offset = 1})(tf_outputs()),
              ElementsAre(labelled(0, 0.7)));
}

TEST(TfDetectionReader, BoundsTheCount) {
  struct Case {
    float count;
    std::size_t given;
  };
  for (const auto& [count, given] :
       {Case{1e30f, 3}, {kInfinity, 3}, {3, 3}, {1.5f, 1}, {0, 0}, {-5, 0}, {kNan, 0}}) {
    MadeOutputs outputs = tf_outputs();
    outputs.value(3, 0) = count;
    EXPECT_THAT(TfDetectionReader({.classes = 2})(outputs), SizeIs(given)) << count;
  }
}

TEST(TfDetectionReader, DropsEntriesWithBadNumbersAndSurvivesHugeOnes) {
  MadeOutputs outputs({100, 100});
  outputs.add("boxes", {1, 2, 4}, {0, 0, 1, 1, 0, 0, 1, 1}).add("classes", {1, 2}, {1, 0});
  outputs.add("scores", {1, 2}, {0.7f, 0.8f});
  const TfDetectionReader reader({.count = std::nullopt, .classes = 2});
  expect_bad_numbers_dropped(reader, outputs, 0.5);
  expect_huge_numbers_survived(reader, outputs, 0.5);
}

TEST(TfDetectionReader, RefusesInconsistentOutputs) {
  const TfDetectionReader reader({.classes = 2});
  MadeOutputs exchanged({9, 9});
  exchanged.fill("scores", {1, 3}, 0)
      .fill("b", {1, 3, 4}, 0)
      .fill("c", {1, 3}, 0)
      .fill("n", {1}, 0);
  expect_refused(
      reader, exchanged,
      AllOf(HasSubstr("TfDetectionReader: output \"scores\" has the shape [1,3]; expected "
                      "is [1,N,4]"),
            HasSubstr("name the model's outputs")));
  MadeOutputs fewer({9, 9});
  fewer.fill("b", {1, 3, 4}, 0).fill("c", {1, 3}, 0).fill("s", {1, 2}, 0).fill("n", {1}, 0);
  expect_refused(reader, fewer, HasSubstr("expected is [1,3] as there are boxes"));
  MadeOutputs counts({9, 9});
  counts.fill("b", {1, 3, 4}, 0).fill("c", {1, 3}, 0).fill("s", {1, 3}, 0).fill("n", {2}, 0);
  expect_refused(reader, counts, HasSubstr("output \"n\" has the shape [2]; expected is [1]"));
}

}  // namespace
}  // namespace vcap
