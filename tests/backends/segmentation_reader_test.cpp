// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/segmentation_reader.hpp"

#include <gtest/gtest.h>

#include "backends/reader_support.hpp"

namespace vcap {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Form = SegmentationSettings::Form;

/// The labels row by row.
std::vector<int> rows(const cv::Mat& labels) {
  std::vector<int> result;
  for (int y = 0; y < labels.rows; ++y)
    for (int x = 0; x < labels.cols; ++x)
      result.push_back(labels.depth() == CV_8U ? labels.at<std::uint8_t>(y, x)
                                               : labels.at<std::uint16_t>(y, x));
  return result;
}

std::vector<int> labels_of(const SegmentationSettings& settings, const MadeOutputs& outputs) {
  return rows(SegmentationReader(settings)(outputs).labels);
}

/// Three classes over 2×2 cells. The best are 0, 2 and 1; the last cell has a tie, so the first, 1.
const std::vector<float> kPlanes = {5, 0, 0, 0,  //
                                    1, 1, 4, 3,  //
                                    2, 2, 3, 3};

TEST(SegmentationReader, TakesTheBestClassOfPlanesAndOfInterleavedScores) {
  const SegmentationSettings planes{.classes = 3, .picture_size = false};
  EXPECT_THAT(labels_of(planes, MadeOutputs({8, 8}).add("o", {1, 3, 2, 2}, kPlanes)),
              ElementsAre(0, 2, 1, 1));
  std::vector<float> interleaved(12);
  for (std::size_t i = 0; i < 12; ++i) interleaved[i % 4 * 3 + i / 4] = kPlanes[i];
  const SegmentationSettings side_by_side{
      .form = Form::interleaved, .classes = 3, .picture_size = false};
  EXPECT_THAT(labels_of(side_by_side, MadeOutputs({8, 8}).add("o", {1, 2, 2, 3}, interleaved)),
              ElementsAre(0, 2, 1, 1));
}

TEST(SegmentationReader, ReadsLabelsThatTheModelHasChosen) {
  const SegmentationSettings settings{.form = Form::labels, .classes = 4, .picture_size = false};
  for (const std::vector<std::size_t>& shape : {std::vector<std::size_t>{1, 2, 2}, {1, 1, 2, 2}})
    EXPECT_THAT(labels_of(settings, MadeOutputs({8, 8}).add("o", shape, {0, 3, 1, kNan})),
                ElementsAre(0, 3, 1, 0));
  for (const float label : {4.0f, -1.0f, 1e30f})
    expect_refused(SegmentationReader(settings), MadeOutputs({8, 8}).fill("o", {1, 2, 2}, label),
                   HasSubstr("but the list has 4 labels"));
}

TEST(SegmentationReader, ComparesOneScoreWithAThresholdIfThereAreTwoClasses) {
  SegmentationSettings settings{.classes = 2, .picture_size = false};
  const std::vector<float> scores = {0.5f, 0.4f, kNan, kInfinity};
  EXPECT_THAT(labels_of(settings, MadeOutputs({8, 8}).add("o", {1, 1, 2, 2}, scores)),
              ElementsAre(1, 0, 0, 0));
  settings.form = Form::interleaved;
  settings.threshold = 0;
  EXPECT_THAT(labels_of(settings, MadeOutputs({8, 8}).add("o", {1, 2, 2, 1}, scores)),
              ElementsAre(1, 1, 0, 0));
}

TEST(SegmentationReader, GivesEachPixelOfThePictureItsNearestCell) {
  // The picture's 6×4 pixels are the middle rows of an input of 6×6, which has 2×3 cells.
  MadeOutputs outputs({6, 6}, {6, 4}, {.y_shift = -1});
  outputs.add("o", {1, 3, 2}, {0, 1, 2, 3, 4, 5});
  const SegmentationSettings settings{.form = Form::labels, .classes = 6};
  EXPECT_THAT(labels_of(settings, outputs), ElementsAre(0, 0, 0, 1, 1, 1,  //
                                                        2, 2, 2, 3, 3, 3,  //
                                                        2, 2, 2, 3, 3, 3,  //
                                                        4, 4, 4, 5, 5, 5));
}

TEST(SegmentationReader, RepeatsEdgesAndSurvivesAMapWithoutInverse) {
  MadeOutputs outputs({2, 2}, {4, 1}, {.x_scale = 1, .x_shift = 1});
  outputs.add("o", {1, 1, 2}, {1, 2});
  const SegmentationSettings settings{.form = Form::labels, .classes = 3};
  EXPECT_THAT(labels_of(settings, outputs), ElementsAre(1, 1, 2, 2));
  MadeOutputs flat({2, 2}, {3, 1}, {.x_scale = 0, .y_scale = 0});
  flat.add("o", {1, 1, 2}, {1, 2});
  EXPECT_THAT(labels_of(settings, flat), ElementsAre(1, 1, 1));
}

TEST(SegmentationReader, SkipsBadScoresAndAcceptsHugeOnes) {
  SegmentationSettings settings{.classes = 2, .picture_size = false};
  for (const float bad : kBadNumbers)
    EXPECT_THAT(labels_of(settings,
                          MadeOutputs({8, 8}).add("o", {1, 2, 1, 3}, {bad, 5, bad, -9, bad, bad})),
                ElementsAre(1, 0, 0))
        << bad;
  EXPECT_THAT(labels_of(settings,
                        MadeOutputs({8, 8}).add("o", {1, 2, 1, 2}, {1e30f, -3e38f, 3e38f, -1e30f})),
              ElementsAre(1, 1));
}

TEST(SegmentationReader, SupportsMoreThan256Classes) {
  const SegmentationSettings settings{
      .form = Form::labels, .classes = 65536, .picture_size = false};
  const Segmentation found =
      SegmentationReader(settings)(MadeOutputs({8, 8}).add("o", {1, 1, 2}, {300, 65535}));
  EXPECT_EQ(found.labels.type(), CV_16U);
  EXPECT_THAT(rows(found.labels), ElementsAre(300, 65535));
  // 300 and 65535 use colours 44 and 255 of 256: 44 has the bits 2, 3 and 5.
  const cv::Mat colored = found.colored();
  EXPECT_EQ(colored.at<cv::Vec3b>(0, 0), cv::Vec3b(192, 0, 64));
  EXPECT_EQ(colored.at<cv::Vec3b>(0, 1), Segmentation::default_palette()[255]);
}

TEST(Segmentation, RepeatsThePaletteIfThereAreMoreClassesThanColors) {
  const Segmentation found{(cv::Mat_<std::uint8_t>(1, 4) << 0, 1, 2, 3)};
  const std::vector<cv::Vec3b> palette = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  const cv::Mat colored = found.colored(palette);
  ASSERT_EQ(colored.type(), CV_8UC3);
  ASSERT_EQ(colored.size(), cv::Size(4, 1));
  for (int x = 0; x < 4; ++x)
    EXPECT_EQ(colored.at<cv::Vec3b>(0, x), palette[static_cast<std::size_t>(x % 3)]);
  EXPECT_TRUE(Segmentation{}.colored().empty());
}

TEST(Segmentation, HasThePaletteOfPascalVoc) {
  // Aeroplane, bicycle, bird, person and border, as red, green, blue: 128 0 0, 0 128 0, 128 128 0,
  // 192 128 128, 224 224 192.
  const std::vector<cv::Vec3b>& palette = Segmentation::default_palette();
  ASSERT_EQ(palette.size(), 256u);
  EXPECT_EQ(palette[0], cv::Vec3b(0, 0, 0));
  EXPECT_EQ(palette[1], cv::Vec3b(0, 0, 128));
  EXPECT_EQ(palette[2], cv::Vec3b(0, 128, 0));
  EXPECT_EQ(palette[3], cv::Vec3b(0, 128, 128));
  EXPECT_EQ(palette[15], cv::Vec3b(128, 128, 192));
  EXPECT_EQ(palette[255], cv::Vec3b(192, 224, 224));
}

TEST(SegmentationReader, RefusesOtherShapesAndSettings) {
  const auto refused = [](SegmentationSettings settings, std::vector<std::size_t> shape,
                          const std::string& message) {
    expect_refused(SegmentationReader(settings),
                   MadeOutputs({8, 8}).fill("seg", std::move(shape), 0), HasSubstr(message));
  };
  refused(
      {}, {1, 20, 8, 8},
      "SegmentationReader: output \"seg\" has the shape [1,20,8,8]; expected is [1,21,H,W]; set "
      "form and classes to the model's");
  refused({}, {1, 1, 8, 8}, "expected is [1,21,H,W]");
  refused({}, {2, 21, 8, 8}, "expected is [1,21,H,W]");
  refused({}, {1, 21, 0, 8}, "with sides of 1 to 32766");
  refused({}, {1, 21, 40000, 1}, "with sides of 1 to 32766");
  refused({.classes = 2}, {1, 3, 8, 8}, "expected is [1,2,H,W] or [1,1,H,W]");
  refused({.form = Form::interleaved}, {1, 8, 8, 20}, "expected is [1,H,W,21]");
  refused({.form = Form::labels}, {1, 2, 8, 8}, "expected is [1,H,W] or [1,1,H,W]");
  for (const std::size_t classes : {std::size_t{0}, std::size_t{65537}})
    expect_bad_setting([&] { SegmentationReader reader({.classes = classes}); },
                       HasSubstr("classes must be within 1 to 65536"));
  expect_bad_setting([] { SegmentationReader reader({.threshold = kNan}); },
                     HasSubstr("threshold must be a finite number"));
}

}  // namespace
}  // namespace vcap
