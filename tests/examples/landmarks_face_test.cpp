// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <opencv2/imgproc.hpp>

#include "examples/networks.hpp"

namespace {

using examples::point;

class LandmarksFace : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_NETWORK("landmarks_face");
    REQUIRE_NETWORK("detector_face");
  }

  static cv::Mat a_frame() {
    return examples::read_frames(examples::footage("Megamind.avi"), 41).back();
  }
  /// The largest face of the frame, with its points.
  static vcap::DetectionNode face_of(const cv::Mat& frame) {
    const auto faces = examples::network("detector_face")->process_frame({.image = frame});
    if (faces.empty()) throw std::runtime_error("there is no face");
    const auto largest = std::ranges::max_element(
        faces, {}, [](const vcap::DetectionNode& face) { return face.bbox().area(); });
    return examples::process("landmarks_face", frame, *largest);
  }
  /// Points 33 and 133 of the mesh are the corners of the right eye, 362 and 263 of the left eye.
  static cv::Point2d right_eye(const vcap::DetectionNode& face) {
    return (point(face, "33") + point(face, "133")) / 2;
  }
  static cv::Point2d left_eye(const vcap::DetectionNode& face) {
    return (point(face, "362") + point(face, "263")) / 2;
  }
};

TEST_F(LandmarksFace, PutsThePointsWhereTheFaceIs) {
  const vcap::DetectionNode face = face_of(a_frame());
  EXPECT_GT(face.extra_data.at("face_presence").get<double>(), 0.5);
  EXPECT_EQ(face.keypoints.size(), 5 + 468u) << "the detector's keypoints are lost";
  // Positions read by eye from the picture.
  EXPECT_LT(cv::norm(right_eye(face) - cv::Point2d(274, 238)), 10);
  EXPECT_LT(cv::norm(left_eye(face) - cv::Point2d(334, 229)), 10);
  EXPECT_LT(cv::norm(point(face, "13") - cv::Point2d(315, 296)), 12) << "the middle of the mouth";
  const vcap::BoundingBox box = face.bbox();
  for (const vcap::Keypoint& keypoint : face.keypoints) {
    EXPECT_NEAR(keypoint.point.x, box.centre().x, 0.65 * box.width()) << keypoint.name;
    EXPECT_NEAR(keypoint.point.y, box.centre().y, 0.65 * box.height()) << keypoint.name;
  }
}

TEST_F(LandmarksFace, FollowsAFaceThatIsTilted) {
  const cv::Mat frame = a_frame();
  const cv::Matx23d turn = cv::getRotationMatrix2D({294, 240}, 25, 1);
  cv::Mat turned;
  cv::warpAffine(frame, turned, turn, frame.size());
  const auto moved = [&](const cv::Point2d& at) {
    return cv::Point2d(turn * cv::Vec3d(at.x, at.y, 1));
  };
  const vcap::DetectionNode upright = face_of(frame), tilted = face_of(turned);
  EXPECT_LT(cv::norm(right_eye(tilted) - moved(right_eye(upright))), 12);
  EXPECT_LT(cv::norm(left_eye(tilted) - moved(left_eye(upright))), 12);
  EXPECT_LT(cv::norm(point(tilted, "152") - moved(point(upright, "152"))), 12) << "the chin";
}

TEST_F(LandmarksFace, GivesNoPointsWithoutAFace) {
  const cv::Mat gray(240, 320, CV_8UC3, cv::Scalar::all(127));
  const auto node =
      examples::process("landmarks_face", gray, examples::node("face", {100, 60, 80, 100}));
  EXPECT_LT(node.extra_data.at("face_presence").get<double>(), 0.5);
  EXPECT_TRUE(node.keypoints.empty());
}

}  // namespace
