// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "examples/networks.hpp"
#include "vcap/loading/manifest.hpp"

namespace {

class ClassifierFaceEmotion : public testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT("classifier_face_emotion"); }
};

TEST_F(ClassifierFaceEmotion, SeesThatAWomanIsSurprised) {
  // Her eyes are wide and her mouth is open, as anybody sees.
  const cv::Mat frame = examples::read_frames(examples::footage("Megamind.avi"), 6).back();
  const auto face = examples::process("classifier_face_emotion", frame,
                                      examples::node("face", {228, 159, 125, 174}));
  EXPECT_EQ(face.attributes.at("emotion"), "surprise");
  const double confidence = face.extra_data.at("emotion_confidence");
  EXPECT_GT(confidence, 0.5);
  EXPECT_LT(confidence, 0.99) << "a network whose weights are misread is always sure";
}

TEST_F(ClassifierFaceEmotion, NamesOneOfItsSevenForEveryFace) {
  const std::vector<std::string> declared =
      vcap::read_manifest(examples::capsule_path("classifier_face_emotion"))
          .info.output_type.attributes.at("emotion");
  EXPECT_EQ(declared.size(), 7u);
  const nlohmann::json all = examples::labels("faces");
  for (const auto& [name, labels] : all.items())
    for (const nlohmann::json& label : labels) {
      if (label.at("ignore").get<bool>()) continue;
      const std::vector<double> box = label.at("box");
      const auto face = examples::process("classifier_face_emotion", examples::picture(name),
                                          examples::node("face", {box[0], box[1], box[2], box[3]}));
      EXPECT_THAT(declared, testing::Contains(face.attributes.at("emotion"))) << name;
      const double confidence = face.extra_data.at("emotion_confidence");
      EXPECT_GE(confidence, 1 / 7.0) << name;
      EXPECT_LE(confidence, 1) << name;
    }
}

TEST_F(ClassifierFaceEmotion, ReplacesAnEmotionThatTheFaceHad) {
  auto face = examples::node("face", {228, 159, 125, 174});
  face.attributes["emotion"] = "sad";
  const cv::Mat frame = examples::read_frames(examples::footage("Megamind.avi"), 6).back();
  EXPECT_EQ(examples::process("classifier_face_emotion", frame, face).attributes.at("emotion"),
            "surprise");
}

}  // namespace
