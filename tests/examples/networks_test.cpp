// SPDX-License-Identifier: Apache-2.0
#include "examples/networks.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>

#include "vcap/base/error.hpp"
#include "vcap/loading/manifest.hpp"

// Requirements for every capsule with a network.

namespace {

struct NetworkCase {
  std::string capsule;
  std::string input;  ///< the name of the single nodes that it takes; empty: it takes frames
  std::vector<std::string> pipeline;  ///< the capsule and the detector that gives these nodes
  std::string picture;
};

class Networks : public testing::TestWithParam<NetworkCase> {
 protected:
  void SetUp() override {
    for (const std::string& name : GetParam().pipeline) REQUIRE_NETWORK(name);
  }
};

TEST_P(Networks, ContainTheirWeightsAndTheLicenceOfTheWeights) {
  std::vector<std::string> paths;
  for (const auto& file : vcap::read_manifest(examples::capsule_path(GetParam().capsule)).files)
    paths.push_back(file.path);
  EXPECT_THAT(paths, testing::IsSupersetOf({"model.json", "LICENSE-weights.txt"}));
  EXPECT_THAT(paths, testing::Contains(
                         testing::AnyOf(testing::EndsWith(".onnx"), testing::EndsWith(".tflite"))));
}

[[noreturn]] void keep_and_exit(const std::string& name) {
  // Registered for destruction before the engine's own static objects, and so destroyed after them.
  static std::shared_ptr<vcap::Capsule> kept;
  kept = vcap::load_capsule(examples::capsule_path(name),
                            {.config = {{"engine", {{"cache_folder", ""}}}}, .devices = {"CPU:0"}});
  std::exit(0);
}

TEST_P(Networks, MayBeKeptInStaticObjectsUntilTheProgramEnds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, in which no engine is loaded
  EXPECT_EXIT(keep_and_exit(GetParam().capsule), testing::ExitedWithCode(0), "");
}

TEST_P(Networks, RefuseAConfigThatIsMisspelt) {
  try {
    vcap::load_capsule(examples::capsule_path(GetParam().capsule),
                       {.config = {{"engine", {{"precison", "f32"}}}}, .devices = {"CPU:0"}});
    FAIL() << "the wrong config was accepted";
  } catch (const vcap::Error& error) {
    EXPECT_EQ(error.code(), vcap::ErrorCode::invalid_config);
    EXPECT_THAT(error.what(), testing::HasSubstr("precison"));
  }
}

TEST_P(Networks, AcceptFramesOfAnySizeAndPartsOfOnePixel) {
  const auto capsule = examples::network(GetParam().capsule);
  for (const cv::Size size :
       {cv::Size(1, 1), cv::Size(1, 300), cv::Size(300, 1), cv::Size(63, 47)}) {
    SCOPED_TRACE(size);
    const cv::Mat image(size, CV_8UC3, cv::Scalar(90, 120, 150));
    if (GetParam().input.empty()) {
      EXPECT_TRUE(capsule->process_frame({.image = image}).empty());
      continue;
    }
    for (const cv::Rect2d box :
         {cv::Rect2d(cv::Point2d(0, 0), cv::Size2d(size)),
          cv::Rect2d(size.width - 1, size.height - 1, 1, 1), cv::Rect2d(0.25, 0.25, 0.5, 0.5)}) {
      const auto given = examples::node(GetParam().input, box);
      const auto returned = examples::process(GetParam().capsule, image, given);
      EXPECT_EQ(returned.name, given.name);
      EXPECT_EQ(returned.coords, given.coords);
      for (const vcap::Keypoint& keypoint : returned.keypoints)
        EXPECT_TRUE(std::isfinite(keypoint.point.x) && std::isfinite(keypoint.point.y));
    }
  }
}

TEST_P(Networks, GiveTheSameForTwoStreamsAtOnceAsForOne) {
  const cv::Mat seen = examples::picture(GetParam().picture);
  const cv::Mat nothing(seen.size(), CV_8UC3, cv::Scalar::all(127));
  const std::vector<cv::Mat> pictures{seen, nothing, seen};
  const auto alone = examples::objects_of_streams(GetParam().pipeline, pictures, 1).front();
  ASSERT_EQ(alone.size(), 3u);
  EXPECT_NE(alone[0], "[]");
  EXPECT_EQ(alone[1], "[]");
  EXPECT_EQ(alone[2], alone[0]);
  EXPECT_THAT(examples::objects_of_streams(GetParam().pipeline, pictures, 2), testing::Each(alone));
}

TEST(MissingNetworks, AreReportedWithARemedy) {
  EXPECT_THAT(examples::missing_for("detector_unicorn").value_or(""),
              testing::AllOf(testing::ContainsRegex("detector_unicorn|engine openvino"),
                             testing::HasSubstr("cmake/fetch_wheels.sh"),
                             testing::HasSubstr("tests/run.sh --without-networks")));
}

INSTANTIATE_TEST_SUITE_P(
    All, Networks,
    testing::Values(
        NetworkCase{"detector_face", "", {"detector_face"}, "messi5.jpg"},
        NetworkCase{"detector_face_fast", "", {"detector_face_fast"}, "left06.jpg"},
        NetworkCase{"landmarks_face", "face", {"detector_face", "landmarks_face"}, "left06.jpg"},
        NetworkCase{
            "landmarks_pose", "person", {"detector_person", "landmarks_pose"}, "basketball2.png"},
        NetworkCase{"classifier_face_emotion",
                    "face",
                    {"detector_face", "classifier_face_emotion"},
                    "messi5.jpg"},
        NetworkCase{"detector_text", "", {"detector_text"}, "opencv-logo-white.png"},
        NetworkCase{"recognizer_text",
                    "text",
                    {"detector_text", "recognizer_text"},
                    "opencv-logo-white.png"}),
    [](const auto& test) { return test.param.capsule; });

}  // namespace
