// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/yunet_reader.hpp"

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

/// Outputs without a face for an input of 64×32: grids of 8×4, 4×2 and 2×1 cells. Outputs 0 to 2
/// are class scores, 3 to 5 are objectness, 6 to 8 are boxes, 9 to 11 are keypoints.
MadeOutputs no_face(MadeOutputs outputs) {
  const std::pair<const char*, std::size_t> kinds[] = {
      {"cls_", 1}, {"obj_", 1}, {"bbox_", 4}, {"kps_", 10}};
  for (const auto& [prefix, width] : kinds)
    for (const std::size_t stride : {8u, 16u, 32u})
      outputs.fill(prefix + std::to_string(stride), {1, 64 / stride * (32 / stride), width}, 0);
  return outputs;
}

void put(MadeOutputs& outputs, std::size_t level, std::size_t cell, float score, float object,
         const std::vector<float>& box, const std::vector<float>& keypoints) {
  outputs.value(level, cell) = score;
  outputs.value(3 + level, cell) = object;
  std::ranges::copy(box, outputs.values(6 + level).begin() + static_cast<std::ptrdiff_t>(cell * 4));
  std::ranges::copy(keypoints,
                    outputs.values(9 + level).begin() + static_cast<std::ptrdiff_t>(cell * 10));
}

TEST(YunetReader, PlacesFacesByTheCellsOfEachStride) {
  MadeOutputs outputs = no_face(MadeOutputs({64, 32}, {128, 96}, {.x_scale = 2, .y_scale = 3}));
  // Stride 8, cell (2,1): centre (2.5, 1.25)·8 = (20, 10), size (2, 1)·8; √(0.81·1) = 0.9.
  put(outputs, 0, 10, 0.81f, 1, {0.5f, 0.25f, std::log(2.0f), 0},
      {0, 0, 1, 0, 0.5f, 0.5f, 0, 1, 1, 1});
  // Stride 16, cell (3,1): centre (3.5, 1.5)·16 = (56, 24), size (0.5, 0.5)·16; √(0.64·1) = 0.8.
  put(outputs, 1, 7, 1, 0.64f, {0.5f, 0.5f, std::log(0.5f), std::log(0.5f)},
      {0.5f, 0.5f, 0, 0, 0, 0, 0, 0, 0, 0});
  const Detections faces = YunetReader(YunetSettings{})(outputs);
  ASSERT_THAT(
      faces,
      ElementsAre(
          AllOf(BoxNear(24, 18, 56, 42), Field(&Detection::confidence, DoubleNear(0.9, 1e-6))),
          AllOf(BoxNear(104, 60, 120, 84), Field(&Detection::confidence, DoubleNear(0.8, 1e-6)))));
  // (2,1)·8 = (16, 8) in the input; the picture is twice as wide and three times as high.
  EXPECT_THAT(faces[0].keypoints,
              ElementsAre(AllOf(PointNear(32, 24), Field(&Keypoint::name, "right_eye")),
                          PointNear(48, 24), PointNear(40, 36), PointNear(32, 48),
                          AllOf(PointNear(48, 48), Field(&Keypoint::name, "left_mouth_corner"))));
}

TEST(YunetReader, SuppressesTheSameFaceAtAnotherStride) {
  MadeOutputs outputs = no_face(MadeOutputs({64, 32}));
  const std::vector<float> points(10, 0.5f);
  put(outputs, 0, 0, 0.9f, 0.9f, {1, 1, std::log(2.0f), std::log(2.0f)}, points);  // 0 0 16 16
  put(outputs, 1, 0, 0.8f, 0.8f, {0.5f, 0.5f, 0, 0}, points);                      // 0 0 16 16
  EXPECT_THAT(YunetReader(YunetSettings{})(outputs),
              ElementsAre(Field(&Detection::confidence, DoubleNear(0.9, 1e-6))));
}

TEST(YunetReader, FindsOutputsByTheirPositionIfSet) {
  MadeOutputs named = no_face(MadeOutputs({64, 32}));
  put(named, 2, 1, 1, 1, {0.5f, 0.5f, 0, 0}, std::vector<float>(10, 0));
  MadeOutputs nameless({64, 32});
  const ModelOutputs view = named.view();
  for (std::size_t i = 0; i < named.size(); ++i)
    nameless.add("", view.tensors[i].shape, named.values(i));
  expect_refused(YunetReader(YunetSettings{}), nameless, HasSubstr("no output named \"cls_8\""));
  EXPECT_THAT(YunetReader({.by_name = false})(nameless), ElementsAre(BoxNear(32, 0, 64, 32)));
}

TEST(YunetReader, PadsTheInputToTheGreatestStride) {
  // 60×20 is padded to 64×32; the outputs have the grids of the padded size.
  EXPECT_THAT(YunetReader(YunetSettings{})(no_face(MadeOutputs({60, 20}))), IsEmpty());
}

TEST(YunetReader, BoundsScoresBeforeTheirRoot) {
  MadeOutputs outputs = no_face(MadeOutputs({64, 32}));
  put(outputs, 0, 0, -4, -4, {1, 1, 0, 0}, std::vector<float>(10, 0));
  put(outputs, 0, 20, 4, 1, {1, 1, 0, 0}, std::vector<float>(10, 0));
  YunetSettings settings;
  settings.filter.threshold = 1;
  EXPECT_THAT(YunetReader(settings)(outputs), ElementsAre(Field(&Detection::confidence, 1.0)));
  settings.filter = {.threshold = 0, .max_overlap = 1};
  EXPECT_THAT(YunetReader(settings)(outputs), SizeIs(42));
}

TEST(YunetReader, DropsFacesWithBadNumbersAndSurvivesHugeOnes) {
  MadeOutputs outputs = no_face(MadeOutputs({64, 32}));
  for (std::size_t level = 0; level < 3; ++level) {
    for (std::size_t i = 0; i < outputs.values(level).size(); ++i)
      outputs.value(level, i) = outputs.value(3 + level, i) = 0.9f;
  }
  const YunetReader reader({.filter = {.threshold = 0.5, .max_overlap = 1}});
  const std::size_t all = reader(outputs).size();
  for (std::size_t output = 0; output < 12; ++output)
    for (const float bad : kBadNumbers) {
      MadeOutputs damaged = outputs;
      damaged.value(output, 0) = bad;
      EXPECT_EQ(reader(damaged).size(), all - 1) << "output " << output << ": " << bad;
    }
  expect_huge_numbers_survived(reader, outputs, 0.5);
}

TEST(YunetReader, RefusesOtherShapesAndSettings) {
  expect_refused(
      YunetReader(YunetSettings{}), no_face(MadeOutputs({640, 640})),
      AllOf(HasSubstr("YunetReader: output \"cls_8\" has the shape [1,32,1]; expected is "
                      "[1,6400,1] for an input of 640x640 pixels"),
            HasSubstr("set strides and keypoints to the model's")));
  expect_refused(YunetReader({.keypoints = {"nose"}}), no_face(MadeOutputs({64, 32})),
                 HasSubstr("output \"kps_8\" has the shape [1,32,10]; expected is [1,32,2]"));
  const auto bad = [](YunetSettings settings, const std::string& message) {
    expect_bad_setting([&] { YunetReader reader(settings); }, HasSubstr(message));
  };
  bad({.strides = {}}, "strides is empty");
  bad({.strides = {0}}, "a stride must be within");
  bad({.strides = {8, 12}}, "stride 8 does not divide the greatest, 12");
  bad({.filter = {.threshold = -1}}, "threshold -1.0");
}

}  // namespace
}  // namespace vcap
