// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/people_crops.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <opencv2/core.hpp>

#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const cv::Size kPicture(768, 576);

Foreground mask_with(const std::vector<cv::Rect>& things) {
  Foreground foreground{cv::Mat1b(kPicture / 2, uchar{0}), 2};
  for (const cv::Rect& thing : things)
    foreground.mask(cv::Rect(thing.tl() / 2, thing.size() / 2)) = 255;
  return foreground;
}

PersonBox person_box(const cv::Rect& rect, double score) {
  return {{double(rect.x), double(rect.y), double(rect.br().x), double(rect.br().y)}, score};
}

TEST(MovingBlobs, AreSortedLargestFirstInPixelsOfThePicture) {
  const cv::Rect small(100, 100, 20, 40), large(300, 200, 40, 90);
  EXPECT_THAT(moving_blobs(mask_with({small, large})), ElementsAre(large, small));
}

TEST(MovingBlobs, LeaveOutSmallLowAndThinThings) {
  EXPECT_THAT(moving_blobs(mask_with({{100, 100, 40, 16}, {200, 100, 2, 90}, {300, 100, 4, 4}})),
              IsEmpty());
  EXPECT_THAT(moving_blobs(mask_with({{100, 100, 4, 18}})), SizeIs(1));
}

TEST(MovingBlobs, JoinAHeadThatIsSeparate) {
  EXPECT_THAT(moving_blobs(mask_with({{100, 100, 20, 20}, {100, 126, 20, 60}})),
              ElementsAre(cv::Rect(100, 100, 20, 86)));
}

TEST(MovingBlobs, AreNotFoundInAMaskWithoutPixels) {
  EXPECT_THAT(moving_blobs({}), IsEmpty());
  EXPECT_THAT(moving_blobs({cv::Mat1b(1, 1, uchar{255}), 1}), IsEmpty());
}

TEST(CropsAround, AreCentredAndTwiceAsHighAsAPerson) {
  const HeightModel heights(20, 0.2);
  const std::vector<cv::Rect> blobs{{300, 300, 30, 100}};  // 100 tall at y = 400
  EXPECT_THAT(crops_around(blobs, heights, kPicture), ElementsAre(cv::Rect(215, 250, 200, 200)));
  EXPECT_THAT(crops_around(blobs, HeightModel(), kPicture),
              ElementsAre(cv::Rect(215, 250, 200, 200)));
  EXPECT_EQ(crop_around({315, 400, 100}), cv::Rect(215, 250, 200, 200));
}

TEST(CropsAround, CoverALargeBlobWithSeveralCrops) {
  const HeightModel heights(40, 0);  // crops of 80
  const cv::Rect blob(100, 100, 300, 200);
  const auto crops = crops_around({&blob, 1}, heights, kPicture);
  EXPECT_GT(crops.size(), 9u);
  cv::Mat1b seen(kPicture, uchar{0});
  for (const cv::Rect& crop : crops) seen(crop) = 1;
  EXPECT_EQ(cv::countNonZero(seen(blob)), blob.area());
}

TEST(CropsAround, LeaveOutABlobThatAnEarlierCropShows) {
  const HeightModel heights(100, 0);
  const std::vector<cv::Rect> blobs{{300, 300, 30, 100}, {350, 320, 20, 60}, {600, 320, 20, 60}};
  EXPECT_THAT(crops_around(blobs, heights, kPicture), SizeIs(2));
}

TEST(CropsAround, AreLimitedInSizeAndNumber) {
  const std::vector<cv::Rect> tiny{{10, 10, 5, 18}}, huge{{0, 0, 768, 576}};
  EXPECT_EQ(crops_around(tiny, HeightModel(), kPicture)[0].width, 72);
  EXPECT_EQ(crops_around(huge, HeightModel(), kPicture)[0].width, 320);
  EXPECT_THAT(crops_around(huge, HeightModel(20, 0), kPicture), SizeIs(64));
  EXPECT_THAT(crops_around(huge, HeightModel(20, 0), kPicture, {.max_crops = 5}), SizeIs(5));
  EXPECT_THAT(crops_around({}, HeightModel(), kPicture), IsEmpty());
}

TEST(CropPadded, IsAViewWithinThePictureAndBlackBeyond) {
  const cv::Mat picture(10, 10, CV_8UC3, cv::Scalar::all(9));
  EXPECT_EQ(crop_padded(picture, {2, 3, 4, 5}).data, picture.ptr(3) + 2 * 3);
  const cv::Mat padded = crop_padded(picture, {-2, 8, 6, 6});
  ASSERT_EQ(padded.size(), cv::Size(6, 6));
  for (int y = 0; y < 6; ++y)
    for (int x = 0; x < 6; ++x)
      EXPECT_EQ(padded.at<cv::Vec3b>(y, x), cv::Vec3b::all(x >= 2 && y < 2 ? 9 : 0));
  EXPECT_EQ(cv::norm(crop_padded(picture, {50, 50, 4, 4}), cv::NORM_INF), 0);
}

TEST(LearnHeights, TakesPeopleWhoAreAloneAndHaveAHighScore) {
  const cv::Rect person(300, 200, 40, 100);
  const Foreground mask = mask_with({person});
  const std::vector<cv::Rect> blobs{person};
  const auto learnt = [&](const PersonBox& box) {
    HeightModel heights;
    return learn_heights(heights, mask, blobs, {&box, 1});
  };
  EXPECT_EQ(learnt(person_box({302, 205, 36, 90}, 0.8)), 1u);
  EXPECT_EQ(learnt(person_box({302, 205, 36, 90}, 0.6)), 0u) << "not sure";
  EXPECT_EQ(learnt(person_box({320, 250, 36, 90}, 0.8)), 0u)
      << "the blob was used instead of the mask";
}

TEST(LearnHeights, LeavesOutPeopleAtTheBorder) {
  HeightModel heights;
  for (const cv::Rect& person :
       {cv::Rect(4, 200, 40, 100), {300, 0, 40, 100}, {730, 200, 38, 100}, {300, 476, 40, 100}}) {
    const PersonBox box = person_box(person, 0.9);
    EXPECT_EQ(learn_heights(heights, mask_with({person}), {&person, 1}, {&box, 1}), 0u);
  }
}

TEST(LearnHeights, MeasuresFeetAndHeightInTheMask) {
  HeightModel heights({.min_samples = 12});
  for (int i = 0; i < 12; ++i) {
    const cv::Rect person(300, 100 + 20 * i, 30, 60);
    const PersonBox box = person_box(person, 0.9);
    ASSERT_EQ(learn_heights(heights, mask_with({person}), {&person, 1}, {&box, 1}), 1u);
  }
  ASSERT_TRUE(heights.calibrate());
  EXPECT_NEAR(heights.height_at(200), 60, 1e-9);
}

TEST(JoinBoxes, GivesTheMeanOfBoxesWeightedByTheirScores) {
  const auto joined =
      join_boxes({person_box({10, 0, 10, 10}, 0.25), person_box({50, 0, 10, 10}, 0.5),
                  person_box({9, 0, 10, 10}, 0.75)},
                 0.5);
  ASSERT_THAT(joined, SizeIs(2));
  EXPECT_DOUBLE_EQ(joined[0].score, 0.75);
  EXPECT_DOUBLE_EQ(joined[0].box.x1, 9.25);
  EXPECT_EQ(joined[1], person_box({50, 0, 10, 10}, 0.5));
  EXPECT_THAT(join_boxes({}, 0.5), IsEmpty());
}

TEST(PeopleCrops, RefuseWrongArguments) {
  const auto refuses = [](const auto& call, const std::string& text) {
    EXPECT_THAT(call, ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(text)));
  };
  refuses([] { crops_around({}, HeightModel(), kPicture, {.side = 0}); }, "side 0");
  refuses([] { crops_around({}, HeightModel(), kPicture, {.min_side = 0}); }, "min_side 0");
  refuses([] { crops_around({}, HeightModel(), kPicture, {.step = 0}); }, "step 0");
  refuses([] { crop_padded(cv::Mat(), {0, 0, 1, 1}); }, "no pixels");
  refuses([] { crop_padded(cv::Mat(2, 2, CV_8UC3), {0, 0, 0, 1}); }, "0x1");
  refuses([] { join_boxes({}, 1.5); }, "max_overlap 1.5");
  refuses([] { moving_blobs({cv::Mat1b(2, 2), 0}); }, "scale 0");
}

}  // namespace
}  // namespace vcap
