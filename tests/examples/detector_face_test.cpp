// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <future>

#include "examples/examples.hpp"
#include "vcap/base/abi.hpp"
#include "vcap/base/error.hpp"
#include "vcap/loading/manifest.hpp"
#include "vcap/loading/package_capsule.hpp"

namespace {

cv::Mat a_face() { return examples::read_frames(examples::footage("Megamind.avi"), 40).back(); }

TEST(DetectorFace, FindsTheFaceInARealClip) {
  const vcap::DetectionNodes faces =
      examples::load("detector_face")->process_frame({.image = a_face()});
  ASSERT_EQ(faces.size(), 1u);
  const vcap::BoundingBox box = faces[0].bbox();
  EXPECT_EQ(faces[0].name, "face");
  EXPECT_GT(*faces[0].confidence(), 0.8);
  // Where anybody sees it in the picture.
  EXPECT_NEAR(box.centre().x, 304, 10);
  EXPECT_NEAR(box.centre().y, 256, 10);
  EXPECT_NEAR(box.width(), 102, 20);
}

TEST(DetectorFace, FindsNoFaceOnPeopleSeenFromAfar) {
  const auto capsule = examples::load("detector_face");
  for (const cv::Mat& frame : examples::read_frames(examples::footage(), 5))
    EXPECT_TRUE(capsule->process_frame({.image = frame}).empty());
}

TEST(DetectorFace, GivesEveryThreadTheFacesOfItsOwnFrame) {
  const auto capsule = examples::load("detector_face");
  const cv::Mat with = a_face();
  const cv::Mat without(with.size(), CV_8UC3, cv::Scalar::all(127));
  std::vector<std::future<std::size_t>> counts;
  for (int i = 0; i < 16; ++i)
    counts.push_back(std::async(std::launch::async, [&, i] {
      return capsule->process_frame({.image = i % 2 == 0 ? with : without}).size();
    }));
  for (std::size_t i = 0; i < counts.size(); ++i) EXPECT_EQ(counts[i].get(), i % 2 == 0 ? 1u : 0u);
}

TEST(DetectorFace, CarriesItsModel) {
  std::vector<std::string> paths;
  for (const auto& file : vcap::read_manifest(examples::capsule_path("detector_face")).files)
    paths.push_back(file.path);
  EXPECT_THAT(paths, testing::Contains("face_cascade.xml"));
}

TEST(DetectorFace, SaysWhichFileItMissesWhenPackedWithoutItsModel) {
  const auto folder = examples::capsule_path("detector_face").parent_path();
  const auto incomplete = folder / "without_model.cap";
  vcap::package_capsule(
      {.libraries = {{std::string(vcap::platform()), folder / "detector_face" / "capsule.so"}}},
      incomplete);
  try {
    vcap::load_capsule(incomplete, {.devices = {"CPU:0"}});
    ADD_FAILURE() << "it loaded";
  } catch (const vcap::CapsuleLoadError& error) {
    EXPECT_EQ(error.code(), vcap::ErrorCode::backend_load_failed);
    EXPECT_THAT(error.what(), testing::HasSubstr("face_cascade.xml"));
  }
  std::filesystem::remove(incomplete);
}

}  // namespace
