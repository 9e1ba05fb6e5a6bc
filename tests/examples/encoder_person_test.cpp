// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <numeric>
#include <opencv2/imgproc.hpp>

#include "examples/examples.hpp"

namespace {

using Encoding = std::vector<float>;

class EncoderPerson : public testing::Test {
 protected:
  Encoding encode(const cv::Mat& picture, const cv::Rect2d& box) {
    return capsule_
        ->process_frame({.image = picture}, vcap::DetectionNodes::single(examples::person(box)))
        .node()
        .encoding.value();
  }
  float distance(const Encoding& a, const Encoding& b) {
    return capsule_->distances(a, std::vector<Encoding>{b}).at(0);
  }
  double threshold() const { return capsule_->info().recognition_threshold.value(); }

  std::shared_ptr<vcap::Capsule> capsule_ = examples::load("encoder_person");
};

const cv::Rect kFigure(60, 40, 64, 128);

cv::Mat painted_person(const cv::Scalar& shirt, const cv::Scalar& trousers) {
  cv::Mat picture(240, 200, CV_8UC3, cv::Scalar(50, 140, 70));
  cv::rectangle(picture, cv::Rect(76, 60, 32, 46), shirt, cv::FILLED);
  cv::rectangle(picture, cv::Rect(76, 106, 32, 50), trousers, cv::FILLED);
  return picture;
}

TEST_F(EncoderPerson, GivesEncodingsOfLengthOne) {
  const Encoding encoding =
      encode(examples::read_frames(examples::footage(), 1).front(), {248, 210, 40, 106});
  EXPECT_EQ(encoding.size(), 144u);
  EXPECT_NEAR(std::inner_product(encoding.begin(), encoding.end(), encoding.begin(), 0.0), 1, 1e-5);
}

TEST_F(EncoderPerson, GivesDistanceZeroToTheSameEncoding) {
  const Encoding encoding = encode(painted_person({30, 30, 200}, {60, 40, 30}), kFigure);
  EXPECT_NEAR(distance(encoding, encoding), 0, 1e-6);
}

TEST_F(EncoderPerson, DistinguishesUpperBodyFromLowerBody) {
  const cv::Scalar red(30, 30, 200), blue(200, 80, 30);
  const Encoding red_shirt = encode(painted_person(red, blue), kFigure);
  const Encoding blue_shirt = encode(painted_person(blue, red), kFigure);
  EXPECT_GT(distance(red_shirt, blue_shirt), threshold());
}

TEST_F(EncoderPerson, RecognisesAPersonWhoHasComeNearer) {
  cv::Mat nearer;
  const cv::Mat picture = painted_person({30, 30, 200}, {60, 40, 30});
  cv::resize(picture, nearer, {}, 1.5, 1.5, cv::INTER_AREA);
  EXPECT_LT(distance(encode(picture, kFigure), encode(nearer, {90, 60, 96, 192})), threshold() / 2);
}

TEST_F(EncoderPerson, MeasuresTheDistanceToEachOfMany) {
  const Encoding asked = encode(painted_person({30, 30, 200}, {60, 40, 30}), kFigure);
  const std::vector<Encoding> known{encode(painted_person({200, 80, 30}, {200, 200, 200}), kFigure),
                                    asked,
                                    encode(painted_person({40, 160, 40}, {0, 230, 240}), kFigure)};
  const std::vector<float> distances = capsule_->distances(asked, known);
  ASSERT_EQ(distances.size(), 3u);
  EXPECT_GT(distances[0], threshold());
  EXPECT_LT(distances[1], threshold());
  EXPECT_GT(distances[2], threshold());
}

TEST_F(EncoderPerson, AcceptsPersonsOfASinglePixel) {
  const cv::Mat picture(10, 10, CV_8UC3, cv::Scalar(30, 30, 200));
  EXPECT_EQ(encode(picture, {4, 4, 1, 1}).size(), 144u);
}

}  // namespace
