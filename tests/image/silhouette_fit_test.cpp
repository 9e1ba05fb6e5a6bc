// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/silhouette_fit.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <opencv2/imgproc.hpp>

#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/image/people_crops.hpp"

namespace vcap {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const cv::Size kMaskedFrame(384, 288);
const HeightModel kHeights(20, 0.25);

/// A person with feet at this place, as tall as the height model says: a head and a body.
Silhouette person_at(double x, double feet) { return {x, feet, kHeights.height_at(feet)}; }

void draw_person(cv::Mat& picture, const Silhouette& person, const cv::Scalar& color) {
  const auto part = [&](double from, double to, double width) {
    const double height = person.height, top = person.feet - height;
    cv::ellipse(picture,
                cv::RotatedRect(cv::Point2f(static_cast<float>(person.x),
                                            static_cast<float>(top + height * (from + to) / 2)),
                                cv::Size2f(static_cast<float>(height * width),
                                           static_cast<float>(height * (to - from))),
                                0),
                color, cv::FILLED);
  };
  part(0, 0.2, 0.14);
  part(0.12, 1, 0.3);
}

/// The mask of these people at half size.
Foreground mask_of(const std::vector<Silhouette>& people, double noise = 0) {
  cv::Mat mask(kMaskedFrame, CV_8UC1, cv::Scalar(0));
  for (const Silhouette& person : people) draw_person(mask, person, cv::Scalar(255));
  cv::Mat half;
  cv::resize(mask, half, kMaskedFrame / 2, 0, 0, cv::INTER_AREA);
  cv::Mat1b result;
  cv::compare(half, 127, result, cv::CMP_GT);
  std::mt19937 engine(7);
  std::bernoulli_distribution flips(noise);
  for (uchar& pixel : result)
    if (flips(engine)) pixel = static_cast<uchar>(255 - pixel);
  return {result, 2};
}

std::vector<FittedPerson> people_in(const Foreground& foreground,
                                    std::vector<PersonBox> boxes = {}) {
  auto people = SilhouetteFit().fit(foreground, moving_blobs(foreground), kHeights, boxes);
  std::ranges::sort(people, {}, [](const FittedPerson& one) { return one.silhouette.x; });
  return people;
}

BoundingBox person_box(const Silhouette& person, double width = 0.3) {
  return {person.x - width * person.height / 2, person.feet - person.height,
          person.x + width * person.height / 2, person.feet};
}

void expect_near(const BoundingBox& box, const BoundingBox& expected, double error) {
  EXPECT_NEAR(box.x1, expected.x1, error);
  EXPECT_NEAR(box.y1, expected.y1, error);
  EXPECT_NEAR(box.x2, expected.x2, error);
  EXPECT_NEAR(box.y2, expected.y2, error);
}

TEST(SilhouetteFit, FindsEachOfSeveralPeopleWithABoxAroundWhatIsVisible) {
  const std::vector<Silhouette> people{person_at(50, 110), person_at(180, 200),
                                       person_at(320, 270)};
  const auto found = people_in(mask_of(people, 0.01));
  ASSERT_THAT(found, SizeIs(3));
  for (std::size_t i = 0; i < 3; ++i) {
    SCOPED_TRACE(i);
    EXPECT_NEAR(found[i].silhouette.x, people[i].x, 3);
    EXPECT_NEAR(found[i].silhouette.feet, people[i].feet, 0.12 * people[i].height);
    EXPECT_GT(found[i].gain, 1.5);
    expect_near(found[i].box, person_box(people[i]), 5);
  }
}

TEST(SilhouetteFit, SeparatesTwoPeopleInOneBlob) {
  for (const double distance : {0.32, 0.4, 0.5}) {
    const Silhouette front = person_at(150, 220);
    const Silhouette behind = person_at(150 + distance * front.height, 210);
    const auto found = people_in(mask_of({front, behind}));
    ASSERT_THAT(found, SizeIs(2)) << distance;
    EXPECT_NEAR(found[0].silhouette.x, front.x, 6) << distance;
    EXPECT_NEAR(found[1].silhouette.x, behind.x, 6) << distance;
  }
}

TEST(SilhouetteFit, FindsOnePersonOnlyOnce) {
  for (int x = 40; x <= 340; x += 25)
    for (const double feet : {100.0, 180.0, 260.0})
      EXPECT_THAT(people_in(mask_of({person_at(x, feet)})), SizeIs(1)) << x << ", " << feet;
}

TEST(SilhouetteFit, FindsAPersonHalfOutsideThePicture) {
  const auto found = people_in(mask_of({person_at(2, 200)}));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].box.x1, 0);
  EXPECT_NEAR(found[0].box.x2, 2 + 0.15 * kHeights.height_at(200), 5);
}

TEST(SilhouetteFit, TakesABoxOfADetectorAsEvidenceOfOnePersonOnly) {
  const Silhouette left = person_at(150, 220), right = person_at(182, 216);
  const auto found = people_in(mask_of({left, right}), {{person_box(left, 0.36), 0.9}});
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_GT(found[0].evidence, 0.6);
  EXPECT_EQ(found[1].evidence, 0);
  const SilhouetteFit fit;
  EXPECT_GT(fit.score(found[0]), fit.score(found[1]));
}

TEST(SilhouetteFit, MeasuresEvidenceByOverlapAndScore) {
  const SilhouetteFit fit;
  const Silhouette person = person_at(150, 220);
  const std::vector<PersonBox> same{{person_box(person, 0.36), 0.8}};
  EXPECT_DOUBLE_EQ(fit.evidence(person, same), 0.8);
  EXPECT_EQ(fit.evidence(person_at(300, 220), same), 0);
  EXPECT_EQ(fit.evidence(person, {}), 0);
  const double partly = fit.evidence(person_at(157, 220), same);
  EXPECT_GT(partly, 0);
  EXPECT_LT(partly, 0.8);
}

TEST(SilhouetteFit, ScoresByGainAndEvidence) {
  const SilhouetteFit fit;
  EXPECT_DOUBLE_EQ(fit.score({.gain = 0, .evidence = 0}), 0);
  EXPECT_DOUBLE_EQ(fit.score({.gain = 3, .evidence = 0}), 0.5);
  EXPECT_DOUBLE_EQ(fit.score({.gain = 9, .evidence = 0}), 0.5);
  EXPECT_DOUBLE_EQ(fit.score({.gain = -9, .evidence = 1}), 0.98);
  EXPECT_DOUBLE_EQ(fit.score({.gain = 1.5, .evidence = 0.5}), 1 - 0.51 * 0.75);
}

TEST(SilhouetteFit, FindsNobodyInAnEmptyMaskOrWithoutBlobs) {
  EXPECT_THAT(people_in(mask_of({})), IsEmpty());
  EXPECT_THAT(people_in({}), IsEmpty());
  EXPECT_THAT(SilhouetteFit().fit(mask_of({person_at(50, 200)}), {}, kHeights), IsEmpty());
}

TEST(SilhouetteFit, EndsOnAFullMaskAndOnBlobsOutsideThePicture) {
  const Foreground full{cv::Mat1b(kMaskedFrame / 2, uchar{255}), 2};
  EXPECT_THAT(people_in(full), SizeIs(testing::Le(12u)));
  const std::vector<cv::Rect> far{{5000, 5000, 40, 90}, {-900, -900, 40, 90}};
  EXPECT_THAT(SilhouetteFit().fit(full, far, kHeights), IsEmpty());
}

TEST(SilhouetteFit, AcceptsPicturesOfAnySize) {
  for (const cv::Size size : {cv::Size(1, 1), {1, 40}, {40, 1}, {3, 7}})
    for (const uchar value : {uchar{0}, uchar{255}}) {
      const Foreground mask{cv::Mat1b(size, value), 1};
      const std::vector<cv::Rect> blob{cv::Rect({}, size)};
      for (const FittedPerson& person : SilhouetteFit().fit(mask, blob, kHeights)) {
        EXPECT_GE(person.box.x1, 0);
        EXPECT_LE(person.box.x2, size.width);
        EXPECT_LE(person.box.y2, size.height);
      }
    }
}

TEST(SilhouetteFit, ToleratesAbsurdHeights) {
  const Foreground mask = mask_of({person_at(150, 220)});
  const auto blobs = moving_blobs(mask);
  EXPECT_THAT(SilhouetteFit().fit(mask, blobs, HeightModel(1e9, 0.5)), IsEmpty());
  EXPECT_THAT(SilhouetteFit().fit(mask, blobs, HeightModel(-1e9, 0.9)), SizeIs(testing::Le(12u)));
}

TEST(SilhouetteFit, GivesTheSameResultForTheSameInput) {
  const Foreground mask = mask_of(
      {person_at(100, 150), person_at(115, 160), person_at(250, 260), person_at(290, 250)}, 0.05);
  const auto first = people_in(mask);
  EXPECT_GE(first.size(), 3u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(people_in(mask), first);
}

TEST(SilhouetteFit, PaintsOtherPeopleOverWithTheBackground) {
  const Silhouette left = person_at(150, 220), right = person_at(190, 218);
  const Foreground mask = mask_of({left, right});
  const auto people = people_in(mask);
  ASSERT_THAT(people, SizeIs(2));
  cv::Mat picture(kMaskedFrame, CV_8UC3, cv::Scalar::all(50));
  draw_person(picture, left, {0, 0, 255});
  draw_person(picture, right, {255, 0, 0});
  const cv::Mat before = picture.clone();
  const cv::Mat background(kMaskedFrame / 2, CV_8UC3, cv::Scalar::all(50));
  const cv::Rect crop = crop_around(people[0].silhouette);
  const cv::Mat seen = SilhouetteFit().isolated(picture, background, 2, people, 0, crop);
  EXPECT_EQ(seen.size(), crop.size());
  EXPECT_EQ(cv::norm(picture, before, cv::NORM_INF), 0) << "the frame was written to";
  const auto count = [&](const cv::Mat& image, const cv::Scalar& color) {
    cv::Mat1b is_color;
    cv::inRange(image, color, color, is_color);
    return cv::countNonZero(is_color);
  };
  const cv::Mat plain = crop_padded(picture, crop);
  EXPECT_GT(count(seen, {0, 0, 255}), 0.9 * count(plain, {0, 0, 255}));
  EXPECT_LT(count(seen, {255, 0, 0}), 0.1 * count(plain, {255, 0, 0}));
}

TEST(SilhouetteFit, RefusesWrongSettingsAndArguments) {
  const auto refuses = [](const auto& call, const std::string& text) {
    EXPECT_THAT(call, ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(text)));
  };
  refuses([] { SilhouetteFit({.noise = 0}); }, "noise 0");
  refuses([] { SilhouetteFit({.grid = 0}); }, "grid 0");
  refuses([] { SilhouetteFit({.heights = {1, -1}}); }, "height -1");
  refuses([] { SilhouetteFit({.max_people = 0}); }, "max_people 0");
  const SilhouetteFit fit;
  const Foreground mask = mask_of({person_at(150, 220)});
  refuses([&] { fit.fit(mask, {}, HeightModel()); }, "is_ready()");
  refuses([&] { fit.fit({mask.mask, 0}, {}, kHeights); }, "scale 0");
  const cv::Mat picture(kMaskedFrame, CV_8UC3, cv::Scalar());
  refuses([&] { fit.isolated(picture, picture, 1, {}, 0, {0, 0, 8, 8}); }, "no person 0");
  const std::vector<FittedPerson> one(1);
  refuses([&] { fit.isolated(picture, picture, 1, one, 0, {}); }, "0x0");
  refuses([&] { fit.isolated(picture, mask.mask, 1, one, 0, {0, 0, 8, 8}); }, "CV_8UC3");
}

}  // namespace
}  // namespace vcap
