// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "examples/face_counts.hpp"

namespace {

class DetectorFaceFast : public testing::Test {
 protected:
  void SetUp() override { REQUIRE_NETWORK("detector_face_fast"); }
};

TEST_F(DetectorFaceFast, FindsTheFaceNearTheCamera) {
  const cv::Mat frame = examples::read_frames(examples::footage("Megamind.avi"), 41).back();
  const vcap::DetectionNodes faces =
      examples::network("detector_face_fast")->process_frame({.image = frame});
  ASSERT_EQ(faces.size(), 1u);
  EXPECT_EQ(faces[0].name, "face");
  EXPECT_NEAR(faces[0].bbox().centre().x, 288, 15);
  EXPECT_NEAR(faces[0].bbox().centre().y, 255, 20);
  // Positions read by eye from the picture.
  EXPECT_LT(cv::norm(examples::point(faces[0], "right_eye") - cv::Point2d(274, 237)), 15);
  EXPECT_LT(cv::norm(examples::point(faces[0], "left_eye") - cv::Point2d(334, 228)), 15);
  EXPECT_LT(cv::norm(examples::point(faces[0], "mouth") - cv::Point2d(315, 296)), 15);
}

TEST_F(DetectorFaceFast, FindsTheLabelledFacesThatAreNearAndHardlyAnythingElse) {
  const examples::FaceCounts counts = examples::count_labelled_faces("detector_face_fast");
  EXPECT_EQ(counts.labelled, 5);
  EXPECT_GE(counts.correct, 2) << "left06.jpg and right06.jpg";
  EXPECT_LE(counts.wrong, 1);
}

}  // namespace
