// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/yolo_reader.hpp"

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

YoloSettings yolo(YoloForm form, std::size_t classes = 2) {
  return {.form = form, .classes = classes, .filter = {.threshold = 0.5, .max_overlap = 0.5}};
}

auto found(std::size_t label, double confidence) {
  return AllOf(Field(&Detection::label, label),
               Field(&Detection::confidence, DoubleNear(confidence, 1e-6)));
}

TEST(YoloReader, ReadsV5AsCentreSizeObjectnessAndScores) {
  MadeOutputs outputs({320, 320}, {320, 320});
  outputs.add("output", {1, 3, 7},
              {100, 50,  20, 10, 0.8f, 0.1f,  0.9f,  //
               100, 50,  20, 10, 0.4f, 1.0f,  0.0f,  // 0.4: not confident enough
               200, 200, 40, 40, 1.0f, 0.95f, 0.2f});
  EXPECT_THAT(YoloReader(yolo(YoloForm::v5))(outputs),
              ElementsAre(AllOf(BoxNear(180, 180, 220, 220), found(0, 0.95)),
                          AllOf(BoxNear(90, 45, 110, 55), found(1, 0.72))));
}

/// Three candidates of two classes: columns x, y, w, h, class 0, class 1.
const std::vector<float> kV8Rows = {100, 50,  20, 10, 0.1f, 0.9f,  //
                                    200, 200, 40, 40, 0.8f, 0.2f,  //
                                    201, 200, 40, 40, 0.7f, 0.1f};

MadeOutputs v8_outputs(bool transposed) {
  MadeOutputs outputs({320, 320}, {320, 320});
  if (transposed) return outputs.add("output0", {1, 3, 6}, kV8Rows);
  std::vector<float> columns(18);
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 6; ++column)
      columns[column * 3 + row] = kV8Rows[row * 6 + column];
  return outputs.add("output0", {1, 6, 3}, columns);
}

TEST(YoloReader, ReadsV8InBothOrdersAndSuppressesDuplicates) {
  for (const bool transposed : {false, true})
    EXPECT_THAT(YoloReader(yolo(YoloForm::v8))(v8_outputs(transposed)),
                ElementsAre(AllOf(BoxNear(90, 45, 110, 55), found(1, 0.9)),
                            AllOf(BoxNear(180, 180, 220, 220), found(0, 0.8))))
        << transposed;
}

TEST(YoloReader, ReadsASquareOutputOfV8AsNotTransposed) {
  MadeOutputs outputs({320, 320}, {320, 320});
  std::vector<float> values(36, 0);
  const float column[] = {100, 50, 20, 10, 0.1f, 0.9f};
  for (std::size_t i = 0; i < 6; ++i) values[i * 6] = column[i];
  outputs.add("output0", {1, 6, 6}, values);
  EXPECT_THAT(YoloReader(yolo(YoloForm::v8))(outputs), ElementsAre(BoxNear(90, 45, 110, 55)));
}

TEST(YoloReader, ReadsKeypointsOfPoseModels) {
  YoloSettings settings = yolo(YoloForm::v8, 1);
  settings.keypoints = {"nose", "tail"};
  MadeOutputs outputs = letterboxed();
  outputs.add("output0", {1, 11, 1}, {100, 140, 20, 40, 0.9f, 95, 130, 0.75f, 105, 170, 1.5f});
  const Detections detections = YoloReader(settings)(outputs);
  ASSERT_THAT(detections, ElementsAre(BoxNear(180, 160, 220, 240)));
  ASSERT_THAT(detections[0].keypoints, ElementsAre(PointNear(190, 180), PointNear(210, 260)));
  EXPECT_EQ(detections[0].keypoints[0].name, "nose");
  EXPECT_NEAR(detections[0].keypoints[0].confidence.value(), 0.75, 1e-6);
  EXPECT_EQ(detections[0].keypoints[1].confidence, 1.0);
}

TEST(YoloReader, ReadsEndToEndWithoutSuppression) {
  MadeOutputs outputs = letterboxed();
  outputs.add("output0", {1, 3, 6},
              {10, 50, 30, 90, 0.9f, 1, 10, 50, 30, 90, 0.8f, 1, 0, 0, 9, 9, 0.1f, 77});
  EXPECT_THAT(YoloReader(yolo(YoloForm::end_to_end))(outputs),
              ElementsAre(AllOf(BoxNear(20, 20, 60, 100), found(1, 0.9)),
                          AllOf(BoxNear(20, 20, 60, 100), found(1, 0.8))));
}

TEST(YoloReader, ReadsYoloxByTheCellsOfItsGrids) {
  // An input of 32×16 has grids of 4×2 cells of 8, 2×1 of 16, and 1×0 of 32 pixels.
  MadeOutputs outputs({32, 16}, {32, 16});
  std::vector<float> values(10 * 7, 0);
  const auto set = [&](std::size_t row, std::vector<float> candidate) {
    std::ranges::copy(candidate, values.begin() + static_cast<std::ptrdiff_t>(row * 7));
  };
  // Cell (2,1) of the first grid: centre (2.5, 1.25)·8, size (1, 0.5)·8.
  set(6, {0.5f, 0.25f, 0, std::log(0.5f), 1, 0.9f, 0.1f});
  // Cell (1,0) of the second: centre (1.5, 0.5)·16, size (0.25, 0.5)·16.
  set(9, {0.5f, 0.5f, std::log(0.25f), std::log(0.5f), 0.8f, 0, 1});
  outputs.add("output", {1, 10, 7}, values);
  EXPECT_THAT(YoloReader(yolo(YoloForm::yolox))(outputs),
              ElementsAre(AllOf(BoxNear(16, 8, 24, 12), found(0, 0.9)),
                          AllOf(BoxNear(22, 4, 26, 12), found(1, 0.8))));
}

TEST(YoloReader, KeepsOverlappingBoxesOfOtherClassesByDefault) {
  MadeOutputs outputs({320, 320}, {320, 320});
  outputs.add("o", {1, 2, 6}, {100, 50, 20, 10, 0.6f, 0.1f, 100, 50, 20, 10, 0.1f, 0.9f});
  YoloSettings settings = yolo(YoloForm::v8);
  EXPECT_THAT(YoloReader(settings)(outputs), ElementsAre(found(1, 0.9), found(0, 0.6)));
  settings.filter.across_classes = true;
  EXPECT_THAT(YoloReader(settings)(outputs), ElementsAre(found(1, 0.9)));
}

TEST(YoloReader, ClipsBoxesToThePictureAndDropsThoseOutside) {
  MadeOutputs outputs({320, 320}, {320, 320});
  outputs.add("o", {1, 2, 6}, {5, 5, 20, 20, 0.9f, 0, 500, 5, 20, 20, 0.8f, 0});
  YoloSettings settings = yolo(YoloForm::v8);
  EXPECT_THAT(YoloReader(settings)(outputs), ElementsAre(BoxNear(0, 0, 15, 15)));
  settings.filter.clip = false;
  EXPECT_THAT(YoloReader(settings)(outputs),
              ElementsAre(BoxNear(-5, -5, 15, 15), BoxNear(490, -5, 510, 15)));
}

TEST(YoloReader, KeepsEveryBoxAtThresholdZeroAndOnlyCertainOnesAtOne) {
  MadeOutputs outputs({320, 320}, {320, 320});
  outputs.add("o", {1, 3, 6},
              {50, 50, 20, 20, 0, 0, 150, 50, 20, 20, 1, 0, 250, 50, 20, 20, 0.99f, 0});
  YoloSettings settings = yolo(YoloForm::v8);
  settings.filter.threshold = 0;
  EXPECT_THAT(YoloReader(settings)(outputs), SizeIs(3));
  settings.filter.threshold = 1;
  EXPECT_THAT(YoloReader(settings)(outputs), ElementsAre(found(0, 1)));
}

TEST(YoloReader, BoundsTheCandidatesAndTheDetections) {
  MadeOutputs outputs({320, 320}, {320, 320});
  outputs.add("o", {1, 3, 6},
              {50, 50, 20, 20, 0.7f, 0, 150, 50, 20, 20, 0.9f, 0, 150, 50, 20, 20, 0.8f, 0});
  YoloSettings settings = yolo(YoloForm::v8);
  settings.filter.max_candidates = 2;  // one of them is a duplicate
  EXPECT_THAT(YoloReader(settings)(outputs), ElementsAre(found(0, 0.9)));
  settings.filter.max_candidates = 3;
  settings.filter.max_detections = 1;
  EXPECT_THAT(YoloReader(settings)(outputs), ElementsAre(found(0, 0.9)));
}

TEST(YoloReader, MirrorsBoxesIfTheMapMirrors) {
  MadeOutputs outputs({320, 320}, {320, 320}, {.x_scale = -1, .x_shift = 320});
  outputs.add("o", {1, 1, 6}, {50, 50, 20, 10, 0.9f, 0});
  EXPECT_THAT(YoloReader(yolo(YoloForm::v8))(outputs), ElementsAre(BoxNear(260, 45, 280, 55)));
}

TEST(YoloReader, GivesNothingForNoCandidates) {
  for (const YoloForm form : {YoloForm::v5, YoloForm::v8, YoloForm::end_to_end}) {
    MadeOutputs outputs({320, 320}, {320, 320});
    const std::size_t columns = form == YoloForm::v5 ? 7 : 6;
    outputs.add("o", {1, 0, columns}, {});
    EXPECT_THAT(YoloReader(yolo(form))(outputs), IsEmpty());
  }
}

TEST(YoloReader, DropsCandidatesWithBadNumbersAndSurvivesHugeOnes) {
  for (const double threshold : {0.0, 0.5}) {
    for (const YoloForm form :
         {YoloForm::v5, YoloForm::v8, YoloForm::end_to_end, YoloForm::yolox}) {
      YoloSettings settings = yolo(form);
      settings.filter.threshold = threshold;
      MadeOutputs outputs({16, 8}, {64, 32}, {.x_scale = 4, .y_scale = 4});
      const std::vector<float> score = form == YoloForm::end_to_end ? std::vector<float>{0.9f, 1}
                                       : form == YoloForm::v8
                                           ? std::vector<float>{0.1f, 0.9f}
                                           : std::vector<float>{0.9f, 0.1f, 0.9f};
      std::vector<float> values;
      const std::size_t rows = form == YoloForm::yolox ? 3 : 4;  // 2×1 cells of 8, 1×0 of 16
      for (std::size_t row = 0; row < rows; ++row) {
        for (const float value : {1.0f, 1.5f, 3.0f, 2.0f}) values.push_back(value);
        values.insert(values.end(), score.begin(), score.end());
      }
      if (form == YoloForm::yolox) {
        settings.strides = {8, 8, 16};
        values.insert(values.end(), values.begin(), values.begin() + 7);
      }
      outputs.add("o", {1, values.size() / (4 + score.size()), 4 + score.size()}, values);
      expect_bad_numbers_dropped(YoloReader(settings), outputs, threshold);
      expect_huge_numbers_survived(YoloReader(settings), outputs, threshold);
    }
  }
}

TEST(YoloReader, RefusesAWrongNumberOfClassesAndNamesTheExpectedShape) {
  MadeOutputs outputs({320, 320}, {320, 320});
  outputs.fill("output0", {1, 84, 8400}, 0);
  expect_refused(YoloReader(yolo(YoloForm::v8, 2)), outputs,
                 AllOf(HasSubstr("YoloReader: output \"output0\" has the shape [1,84,8400]"),
                       HasSubstr("expected is [1,6,N] or [1,N,6] for 2 classes"),
                       HasSubstr("set form, classes and keypoints to the model's")));
  YoloSettings pose = yolo(YoloForm::v8, 2);
  pose.keypoints = {"a"};
  expect_refused(YoloReader(pose), outputs, HasSubstr("2 classes and 1 keypoints"));
}

TEST(YoloReader, RefusesOtherShapes) {
  const std::vector<std::vector<std::size_t>> shapes = {
      {7}, {2, 3, 7}, {1, 3, 8}, {1, 7, 3}, {1, 2, 3, 7}};
  for (const auto& shape : shapes) {
    MadeOutputs outputs({320, 320}, {320, 320});
    outputs.fill("o", shape, 0);
    expect_refused(YoloReader(yolo(YoloForm::v5)), outputs, HasSubstr("expected is [1,N,7]"));
  }
  MadeOutputs grid({320, 320}, {320, 320});
  grid.fill("o", {1, 2101, 7}, 0);
  expect_refused(YoloReader(yolo(YoloForm::yolox)), grid,
                 HasSubstr("expected is [1,2100,7] for an input of 320x320 pixels"));
  MadeOutputs torn({320, 320}, {320, 320});
  torn.add("o", {1, 3, 7}, std::vector<float>(20));
  expect_refused(YoloReader(yolo(YoloForm::v5)), torn, HasSubstr("has 20 values"));
  expect_refused(YoloReader(yolo(YoloForm::v5)), MadeOutputs({320, 320}),
                 HasSubstr("YoloReader: the model has 0 outputs"));
}

TEST(YoloReader, RefusesALabelThatIsNotInTheList) {
  for (const float label : {2.0f, -1.0f, 1e30f}) {
    MadeOutputs outputs({320, 320}, {320, 320});
    outputs.add("o", {1, 1, 6}, {10, 10, 20, 20, 0.9f, label});
    expect_refused(YoloReader(yolo(YoloForm::end_to_end)), outputs,
                   HasSubstr("the list has 2 labels (counted from 0)"));
  }
}

TEST(YoloReader, RefusesBadSettings) {
  const auto bad = [](auto change, const std::string& message) {
    YoloSettings settings = yolo(YoloForm::yolox);
    change(settings);
    expect_bad_setting([&] { YoloReader reader(settings); }, HasSubstr(message));
  };
  bad([](YoloSettings& s) { s.classes = 0; }, "classes must be within 1 to 1000000, got 0");
  bad([](YoloSettings& s) { s.classes = std::size_t(-1); }, "classes must be within");
  bad([](YoloSettings& s) { s.strides.clear(); }, "strides is empty");
  bad([](YoloSettings& s) { s.strides = {8, 0}; }, "a stride must be within 1 to 65536 pixels");
  bad([](YoloSettings& s) { s.keypoints = {"nose"}; }, "only the form v8");
  bad([](YoloSettings& s) { s.filter.threshold = 1.1; }, "threshold 1.1 is not within 0 to 1");
  bad([](YoloSettings& s) { s.filter.max_overlap = kNan; }, "max_overlap NaN is not");
  bad([](YoloSettings& s) { s.filter.max_candidates = 0; }, "must be > 0");
  bad([](YoloSettings& s) { s.filter.max_detections = 0; }, "must be > 0");
}

}  // namespace
}  // namespace vcap
