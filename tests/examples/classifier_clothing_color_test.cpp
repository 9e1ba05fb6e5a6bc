// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <opencv2/imgproc.hpp>

#include "examples/examples.hpp"
#include "vcap/base/error.hpp"

namespace {

const cv::Rect kBox(60, 40, 64, 128);  // with background around the figure, as detectors give it

/// A figure on a lawn: head, shirt, dark trousers.
cv::Mat painted_person(const cv::Scalar& shirt) {
  cv::Mat picture(240, 200, CV_8UC3, cv::Scalar(50, 140, 70));
  cv::circle(picture, {92, 58}, 9, cv::Scalar(140, 170, 220), cv::FILLED);
  cv::rectangle(picture, cv::Rect(76, 68, 32, 40), shirt, cv::FILLED);
  cv::rectangle(picture, cv::Rect(80, 108, 24, 48), cv::Scalar(60, 40, 30), cv::FILLED);
  return picture;
}

vcap::DetectionNode classify(const cv::Mat& picture, const cv::Rect2d& box = kBox) {
  static const auto capsule = examples::load("classifier_clothing_color");
  return capsule
      ->process_frame({.image = picture}, vcap::DetectionNodes::single(examples::person(box)))
      .node();
}

double confidence(const vcap::DetectionNode& node) {
  return node.extra_data.at("upper_color_confidence").get<double>();
}

struct ShirtCase {
  const char* color;
  cv::Scalar shirt;  // BGR
};

class ClothingColors : public testing::TestWithParam<ShirtCase> {};

TEST_P(ClothingColors, HaveTheNamesThatPeopleUse) {
  const vcap::DetectionNode person = classify(painted_person(GetParam().shirt));
  EXPECT_EQ(person.attributes.at("upper_color"), GetParam().color);
  EXPECT_DOUBLE_EQ(confidence(person), 1);
}

INSTANTIATE_TEST_SUITE_P(
    Painted, ClothingColors,
    testing::Values(ShirtCase{"black", {22, 20, 25}}, ShirtCase{"black", {50, 30, 30}},
                    ShirtCase{"white", {245, 248, 250}}, ShirtCase{"white", {215, 205, 205}},
                    ShirtCase{"gray", {128, 128, 128}}, ShirtCase{"gray", {90, 85, 80}},
                    ShirtCase{"red", {30, 30, 200}}, ShirtCase{"red", {60, 20, 160}},
                    ShirtCase{"orange", {0, 140, 255}}, ShirtCase{"orange", {30, 110, 230}},
                    ShirtCase{"yellow", {0, 230, 240}}, ShirtCase{"yellow", {90, 220, 250}},
                    ShirtCase{"green", {40, 160, 40}}, ShirtCase{"green", {90, 100, 20}},
                    ShirtCase{"blue", {200, 80, 30}}, ShirtCase{"blue", {110, 60, 30}},
                    ShirtCase{"purple", {150, 40, 130}}, ShirtCase{"purple", {200, 60, 150}},
                    ShirtCase{"pink", {180, 105, 255}}, ShirtCase{"pink", {203, 192, 255}},
                    ShirtCase{"brown", {19, 69, 139}}, ShirtCase{"brown", {45, 82, 130}}),
    [](const auto& test) {
      return std::string(test.param.color) + "_" + std::to_string(test.index);
    });

TEST(ClassifierClothingColor, DeclaresEveryColorThatItGives) {
  const auto capsule = examples::load("classifier_clothing_color");
  EXPECT_THAT(capsule->info().output_type.attributes.at("upper_color"),
              testing::UnorderedElementsAre("black", "white", "gray", "red", "orange", "yellow",
                                            "green", "blue", "purple", "pink", "brown"));
  EXPECT_TRUE(capsule->info().output_type.describes(classify(painted_person({30, 30, 200}))));
}

TEST(ClassifierClothingColor, GivesHalfConfidenceToAShirtOfTwoColors) {
  cv::Mat picture = painted_person({30, 30, 200});
  cv::rectangle(picture, cv::Rect(76, 68, 16, 40), cv::Scalar(200, 80, 30), cv::FILLED);
  EXPECT_NEAR(confidence(classify(picture)), 0.5, 0.07);
}

TEST(ClassifierClothingColor, AcceptsPersonsOfASinglePixel) {
  const cv::Mat picture(10, 10, CV_8UC3, cv::Scalar(30, 30, 200));
  EXPECT_EQ(classify(picture, {4, 4, 1, 1}).attributes.at("upper_color"), "red");
}

TEST(ClassifierClothingColor, ClassifiesTheVisiblePartOfAPersonAtTheEdge) {
  cv::Mat picture(240, 200, CV_8UC3, cv::Scalar(200, 80, 30));
  EXPECT_EQ(classify(picture, {-40, -60, 64, 128}).attributes.at("upper_color"), "blue");
}

TEST(ClassifierClothingColor, RefusesAPersonOutsideTheFrame) {
  const cv::Mat picture(240, 200, CV_8UC3, cv::Scalar::all(0));
  try {
    classify(picture, {300, 40, 64, 128});
    FAIL() << "it named a colour instead of throwing";
  } catch (const vcap::InvalidArgument& error) {
    EXPECT_EQ(error.code(), vcap::ErrorCode::empty_crop);
  }
}

TEST(ClassifierClothingColor, KeepsTheOtherFieldsOfThePerson) {
  const auto capsule = examples::load("classifier_clothing_color");
  vcap::DetectionNode person = examples::person(kBox);
  person.track_id = vcap::Uuid::random();
  person.extra_data["detection_confidence"] = 0.75;
  const auto id = person.track_id;
  const vcap::DetectionNodes after = capsule->process_frame(
      {.image = painted_person({30, 30, 200})}, vcap::DetectionNodes::single(std::move(person)));
  EXPECT_EQ(after.node().track_id, id);
  EXPECT_EQ(after.node().confidence(), 0.75);
}

}  // namespace
