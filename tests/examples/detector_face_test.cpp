// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <future>

#include "examples/face_counts.hpp"
#include "vcap/base/abi.hpp"
#include "vcap/base/error.hpp"
#include "vcap/loading/package_capsule.hpp"

namespace {

cv::Mat a_frame() { return examples::read_frames(examples::footage("Megamind.avi"), 41).back(); }

class DetectorFace : public testing::Test {
 protected:
  void SetUp() override { REQUIRE_NETWORK("detector_face"); }
};

TEST_F(DetectorFace, FindsTheTwoFacesOfARealClip) {
  const vcap::DetectionNodes faces =
      examples::network("detector_face")->process_frame({.image = a_frame()});
  ASSERT_EQ(faces.size(), 2u);
  EXPECT_EQ(faces[0].name, "face");
  EXPECT_GT(*faces[0].confidence(), 0.8);
  // Positions read by eye from the picture.
  EXPECT_NEAR(faces[0].bbox().centre().x, 294, 12);
  EXPECT_NEAR(faces[0].bbox().centre().y, 240, 12);
  EXPECT_NEAR(faces[1].bbox().centre().x, 494, 12);
  EXPECT_NEAR(faces[1].bbox().centre().y, 221, 12);
}

TEST_F(DetectorFace, NamesEyesAndMouthCornersFromThePersonsOwnView) {
  const vcap::DetectionNodes faces =
      examples::network("detector_face")->process_frame({.image = a_frame()});
  ASSERT_FALSE(faces.empty());
  const auto at = [&](const std::string& name) { return examples::point(faces[0], name); };
  EXPECT_LT(at("right_eye").x + 30, at("left_eye").x);
  EXPECT_LT(at("right_eye").y + 10, at("nose_tip").y);
  EXPECT_LT(at("nose_tip").y + 5, at("right_mouth_corner").y);
  EXPECT_LT(at("right_mouth_corner").x + 20, at("left_mouth_corner").x);
}

TEST_F(DetectorFace, FindsTheLabelledFacesAndHardlyAnythingElse) {
  const examples::FaceCounts counts = examples::count_labelled_faces("detector_face");
  EXPECT_EQ(counts.labelled, 5);
  EXPECT_EQ(counts.correct, 5);
  EXPECT_LE(counts.wrong, 1);
}

TEST_F(DetectorFace, GivesEveryThreadTheFacesOfItsOwnFrame) {
  const auto capsule = examples::network("detector_face");
  const cv::Mat with = a_frame();
  const cv::Mat without(with.size(), CV_8UC3, cv::Scalar::all(127));
  std::vector<std::future<std::size_t>> counts;
  for (int i = 0; i < 8; ++i)
    counts.push_back(std::async(std::launch::async, [&, i] {
      return capsule->process_frame({.image = i % 2 == 0 ? with : without}).size();
    }));
  for (std::size_t i = 0; i < counts.size(); ++i) EXPECT_EQ(counts[i].get(), i % 2 == 0 ? 2u : 0u);
}

TEST_F(DetectorFace, NamesTheMissingFileWhenPackedWithoutItsModel) {
  const auto folder = examples::capsule_path("detector_face").parent_path();
  const auto incomplete = folder / "without_model.cap";
  vcap::package_capsule(
      {.libraries = {{std::string(vcap::platform()), folder / "detector_face" / "capsule.so"}}},
      incomplete);
  try {
    vcap::load_capsule(incomplete, {.devices = {"CPU:0"}});
    ADD_FAILURE() << "it loaded";
  } catch (const vcap::Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("model.json"));
  }
  std::filesystem::remove(incomplete);
}

}  // namespace
