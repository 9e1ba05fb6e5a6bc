// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/centerface_reader.hpp"

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

/// Outputs without a face, with a heat map of 3 rows and 4 columns.
MadeOutputs blank(MadeOutputs outputs) {
  outputs.fill("537", {1, 1, 3, 4}, 0).fill("538", {1, 2, 3, 4}, 0);
  return outputs.fill("539", {1, 2, 3, 4}, 0).fill("540", {1, 10, 3, 4}, 0);
}

TEST(CenterfaceReader, PlacesFacesByTheirCell) {
  MadeOutputs outputs = blank(MadeOutputs({16, 12}, {32, 36}, {.x_scale = 2, .y_scale = 3}));
  const std::size_t cell = 1 * 4 + 2, plane = 12;
  outputs.value(0, cell) = 0.8f;
  outputs.value(1, cell) = std::log(1.5f);     // height 6
  outputs.value(1, plane + cell) = 0;          // width 4
  outputs.value(2, cell) = 0.25f;              // y = (1 + 0.25 + 0.5)·4 = 7
  outputs.value(2, plane + cell) = -0.5f;      // x = (2 − 0.5 + 0.5)·4 = 8
  outputs.value(3, 2 * plane + cell) = 0.5f;   // the second keypoint's y
  outputs.value(3, 3 * plane + cell) = 0.75f;  // and x
  const Detections faces = CenterfaceReader(CenterfaceSettings{})(outputs);
  ASSERT_THAT(faces, ElementsAre(AllOf(BoxNear(12, 12, 20, 30),
                                       Field(&Detection::confidence, DoubleNear(0.8, 1e-6)))));
  EXPECT_THAT(
      faces[0].keypoints,
      ElementsAre(PointNear(12, 12), AllOf(PointNear(18, 21), Field(&Keypoint::name, "left_eye")),
                  PointNear(12, 12), PointNear(12, 12), PointNear(12, 12)));
}

TEST(CenterfaceReader, SuppressesTheSameFaceInTheNextCell) {
  MadeOutputs outputs = blank(MadeOutputs({16, 12}));
  for (const std::size_t cell : {5u, 6u}) {
    outputs.value(0, cell) = cell == 5 ? 0.8f : 0.9f;
    outputs.value(1, cell) = outputs.value(1, 12 + cell) = std::log(2.0f);
  }
  EXPECT_THAT(CenterfaceReader(CenterfaceSettings{})(outputs), ElementsAre(BoxNear(6, 2, 14, 10)));
}

TEST(CenterfaceReader, AppliesThresholdsZeroAndOne) {
  MadeOutputs outputs = blank(MadeOutputs({16, 12}));
  outputs.value(0, 3) = 1;
  EXPECT_THAT(CenterfaceReader({.filter = {.threshold = 0}})(outputs), SizeIs(12));
  EXPECT_THAT(CenterfaceReader({.filter = {.threshold = 1}})(outputs), SizeIs(1));
  MadeOutputs empty({16, 12});
  empty.fill("", {1, 1, 0, 0}, 0).fill("", {1, 2, 0, 0}, 0).fill("", {1, 2, 0, 0}, 0);
  empty.fill("", {1, 10, 0, 0}, 0);
  EXPECT_THAT(CenterfaceReader(CenterfaceSettings{})(empty), IsEmpty());
}

TEST(CenterfaceReader, DropsFacesWithBadNumbersAndSurvivesHugeOnes) {
  MadeOutputs outputs = blank(MadeOutputs({16, 12}));
  for (float& score : outputs.values(0)) score = 0.9f;
  const CenterfaceReader reader({.filter = {.max_overlap = 1}});
  expect_bad_numbers_dropped(reader, outputs, 0.5);
  expect_huge_numbers_survived(reader, outputs, 0.5);
}

TEST(CenterfaceReader, RefusesOtherShapesAndSettings) {
  MadeOutputs exchanged({16, 12});
  exchanged.fill("537", {1, 1, 3, 4}, 0).fill("538", {1, 2, 3, 4}, 0);
  exchanged.fill("540", {1, 10, 3, 4}, 0).fill("539", {1, 2, 3, 4}, 0);
  expect_refused(CenterfaceReader(CenterfaceSettings{}), exchanged,
                 AllOf(HasSubstr("CenterfaceReader: output \"540\" has the shape [1,10,3,4]; "
                                 "expected is [1,2,3,4] as the heat map has"),
                       HasSubstr("name the model's outputs")));
  MadeOutputs batch({16, 12});
  batch.fill("537", {2, 1, 3, 4}, 0);
  expect_refused(CenterfaceReader(CenterfaceSettings{}), batch, HasSubstr("expected is [1,1,H,W]"));
  expect_bad_setting([] { CenterfaceReader reader({.stride = 0}); }, HasSubstr("stride must be"));
  expect_bad_setting([] { CenterfaceReader reader({.filter = {.max_overlap = 3}}); },
                     HasSubstr("max_overlap 3.0"));
}

}  // namespace
}  // namespace vcap
