// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/anchor_reader.hpp"

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

/// Anchors of levels 3 and 4 over an input of 24×16: 3·2 + 2·1 cells with 6 anchors each.
AnchorSettings two_levels() {
  AnchorSettings settings;
  settings.classes = 2;
  settings.anchors.first_level = 3;
  settings.anchors.last_level = 4;
  settings.anchors.size = 2;
  settings.anchors.scales = {1, 1.5};
  settings.variances = {0.1, 0.1, 0.2, 0.2};
  settings.filter.clip = false;
  return settings;
}

MadeOutputs outputs_with(std::size_t index, std::vector<float> raw) {
  MadeOutputs outputs({24, 16});
  outputs.fill("boxes", {1, 48, 4}, 0).fill("scores", {1, 48, 2}, 0);
  std::ranges::copy(raw, outputs.values(0).begin() + static_cast<std::ptrdiff_t>(index * 4));
  outputs.value(1, index * 2 + 1) = 0.75f;
  return outputs;
}

// The expected boxes come from anchor_reader_golden.py.

TEST(AnchorReader, MovesAndScalesTheAnchors) {
  AnchorSettings settings = two_levels();
  const std::vector<float> raw = {0.5f, -0.25f, 0.2f, -0.3f};
  EXPECT_THAT(AnchorReader(settings)(outputs_with(25, raw)),
              ElementsAre(AllOf(BoxNear(-3.96609, 3.5846, 31.3602, 19.56687),
                                Field(&Detection::label, 1), Field(&Detection::confidence, 0.75))));
  EXPECT_THAT(AnchorReader(settings)(outputs_with(43, raw)),
              ElementsAre(BoxNear(-7.93218, -8.8308, 62.7204, 23.13375)));
  settings.anchors.scales_first = true;
  EXPECT_THAT(AnchorReader(settings)(outputs_with(25, raw)),
              ElementsAre(BoxNear(4.47351, 4.06588, 21.12649, 19.13412)));
  EXPECT_THAT(AnchorReader(settings)(outputs_with(43, raw)),
              ElementsAre(BoxNear(8.94703, -7.86823, 42.25297, 22.26823)));
}

TEST(AnchorReader, MovesTheCornersOfTheAnchors) {
  AnchorSettings settings = two_levels();
  settings.code = AnchorSettings::Code::corners;
  settings.variances = {0.2, 0.2, 0.2, 0.2};
  EXPECT_THAT(AnchorReader(settings)(outputs_with(25, {0.5f, -0.25f, 0.2f, -0.3f})),
              ElementsAre(BoxNear(-1.57645, 2.66619, 30.32821, 19.46705)));
}

TEST(AnchorReader, ReadsYBeforeXIfSetAndClipsToThePicture) {
  AnchorSettings settings = two_levels();
  settings.y_first = true;
  settings.filter.clip = true;
  EXPECT_THAT(AnchorReader(settings)(outputs_with(25, {-0.25f, 0.5f, -0.3f, 0.2f})),
              ElementsAre(BoxNear(0, 3.5846, 24, 16)));
}

TEST(AnchorReader, TakesTheSigmoidOfLogits) {
  AnchorSettings settings = two_levels();
  settings.sigmoid = true;
  settings.filter.threshold = 0.6;
  EXPECT_THAT(AnchorReader(settings)(outputs_with(25, {})),
              ElementsAre(Field(&Detection::confidence, DoubleNear(0.67917870, 1e-7))));
}

TEST(AnchorReader, HasTheAnchorsOfRetinaNetByDefault) {
  // 640×640: (80² + 40² + 20² + 10² + 5²)·9 = 76725.
  MadeOutputs outputs({640, 640});
  outputs.fill("boxes", {1, 76725, 4}, 0).fill("scores", {1, 76725, 80}, 0);
  outputs.value(1, (76724 - 4) * 80 + 7) = 0.9f;
  // The last cell's middle anchor: centre 4.5·128, ratio 1, scale 2^⅓: side 4·128·1.2599 =
  // 645.0796.
  AnchorSettings settings;
  settings.filter.clip = false;
  const double half = 645.07958 / 2;
  EXPECT_THAT(AnchorReader(settings)(outputs),
              ElementsAre(AllOf(BoxNear(576 - half, 576 - half, 576 + half, 576 + half),
                                Field(&Detection::label, 7))));
}

TEST(AnchorReader, AppliesThresholdsZeroAndOne) {
  AnchorSettings settings = two_levels();
  settings.filter = {.threshold = 0, .max_overlap = 1, .clip = false};
  EXPECT_THAT(AnchorReader(settings)(outputs_with(25, {})), SizeIs(48));
  settings.filter.threshold = 1;
  EXPECT_THAT(AnchorReader(settings)(outputs_with(25, {})), IsEmpty());
}

TEST(AnchorReader, DropsCandidatesWithBadNumbersAndSurvivesHugeOnes) {
  for (const auto code : {AnchorSettings::Code::centre_size, AnchorSettings::Code::corners}) {
    AnchorSettings settings = two_levels();
    settings.code = code;
    settings.filter = {.max_overlap = 1};  // keeps a dropped box from revealing suppressed ones
    MadeOutputs outputs = outputs_with(25, {});
    for (float& score : outputs.values(1)) score = 0.6f;
    expect_bad_numbers_dropped(AnchorReader(settings), outputs, 0.5);
    expect_huge_numbers_survived(AnchorReader(settings), outputs, 0.5);
  }
}

TEST(AnchorReader, RefusesOtherShapes) {
  MadeOutputs outputs({24, 16});
  outputs.fill("boxes", {1, 47, 4}, 0).fill("scores", {1, 48, 2}, 0);
  expect_refused(
      AnchorReader(two_levels()), outputs,
      AllOf(HasSubstr("AnchorReader: output \"boxes\" has the shape [1,47,4]; expected is "
                      "[1,48,4] for an input of 24x16 pixels"),
            HasSubstr("set anchors and classes to the model's")));
  MadeOutputs classes({24, 16});
  classes.fill("boxes", {1, 48, 4}, 0).fill("scores", {1, 48, 3}, 0);
  expect_refused(AnchorReader(two_levels()), classes, HasSubstr("expected is [1,48,2]"));
}

TEST(AnchorReader, RefusesBadSettings) {
  const auto bad = [](auto change, const std::string& message) {
    AnchorSettings settings = two_levels();
    change(settings);
    expect_bad_setting([&] { AnchorReader reader(settings); }, HasSubstr(message));
  };
  bad([](AnchorSettings& s) { s.classes = 0; }, "classes must be");
  bad([](AnchorSettings& s) { s.filter.threshold = kNan; }, "threshold NaN");
  bad([](AnchorSettings& s) { s.anchors.first_level = -1; }, "levels -1 to 4 are not a range");
  bad([](AnchorSettings& s) { s.anchors.last_level = 40; }, "within 0 to 16");
  bad([](AnchorSettings& s) { s.anchors.last_level = 2; }, "levels 3 to 2");
  bad([](AnchorSettings& s) { s.anchors.scales.clear(); }, "at least one scale");
  bad([](AnchorSettings& s) { s.anchors.ratios = {-1}; }, "a ratio must be a number > 0, got -1.0");
  bad([](AnchorSettings& s) { s.anchors.scales.resize(1001, 1); }, "at most 1000 of each");
  bad([](AnchorSettings& s) { s.anchors.size = 0; }, "anchors.size must be");
  bad([](AnchorSettings& s) { s.anchors.offset = -1; }, "anchors.offset");
  bad([](AnchorSettings& s) { s.variances[2] = kInfinity; }, "a variance must be");
}

}  // namespace
}  // namespace vcap
