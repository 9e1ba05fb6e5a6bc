// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/background_model.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <opencv2/core.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using testing::HasSubstr;

cv::Mat wall(cv::Size size = {64, 48}, int brightness = 100) {
  return {size, CV_8UC3, cv::Scalar::all(brightness)};
}

cv::Mat wall_with(const cv::Rect& thing, int brightness = 200) {
  cv::Mat picture = wall();
  picture(thing) = cv::Scalar::all(brightness);
  return picture;
}

/// Shows `count` pictures, 100 ms apart.
void show(BackgroundModel& model, const cv::Mat& picture, int count, milliseconds from = {}) {
  for (int i = 0; i < count; ++i) model.observe(picture, from + milliseconds(100 * i));
}

TEST(BackgroundModel, IsReadyWithItsFifthSample) {
  BackgroundModel model;
  for (int i = 0; i < 4; ++i) {
    model.observe(wall(), milliseconds(100 * i));
    EXPECT_FALSE(model.is_ready());
    EXPECT_EQ(cv::countNonZero(model.foreground(wall_with({8, 8, 20, 20}), 20).mask), 0);
  }
  model.observe(wall(), milliseconds(400));
  EXPECT_TRUE(model.is_ready());
}

TEST(BackgroundModel, FindsExactlyWhatIsNotBackground) {
  BackgroundModel model({.blur = 0});
  show(model, wall(), 6);
  const Foreground found = model.foreground(wall_with({8, 10, 20, 12}), 20);
  EXPECT_EQ(found.scale, 2);
  cv::Mat1b expected(24, 32, uchar{0});
  expected(cv::Rect(4, 5, 10, 6)) = 255;
  EXPECT_EQ(cv::norm(found.mask, expected, cv::NORM_INF), 0);
  EXPECT_DOUBLE_EQ(found.share(), 60.0 / (24 * 32));
  EXPECT_DOUBLE_EQ(found.share({8, 10, 28, 22}), 1);
  EXPECT_DOUBLE_EQ(found.share({8, 10, 48, 22}), 0.5);
  EXPECT_DOUBLE_EQ(found.share({-30, -30, -10, -10}), 0);
  EXPECT_DOUBLE_EQ(found.share({1e300, 0, 1e301, 5}), 0);
}

TEST(BackgroundModel, ComparesEachChannelWithTheThreshold) {
  BackgroundModel model({.blur = 0});
  show(model, wall(), 5);
  cv::Mat picture = wall();
  picture.setTo(cv::Scalar(100, 100, 125));
  EXPECT_EQ(model.foreground(picture, 25).share(), 0);
  EXPECT_EQ(model.foreground(picture, 24).share(), 1);
  const auto both = model.foregrounds(picture, {24, 25});
  EXPECT_EQ(both[0].share(), 1);
  EXPECT_EQ(both[1].share(), 0);
}

TEST(BackgroundModel, IsTheMedianOfItsSamples) {
  BackgroundModel model({.samples = 9, .ready_at = 9, .scale = 1, .blur = 0});
  cv::RNG random(5);
  std::vector<cv::Mat> pictures;
  for (int i = 0; i < 9; ++i) {
    cv::Mat picture(7, 41, CV_8UC3);
    random.fill(picture, cv::RNG::UNIFORM, 0, 256);
    pictures.push_back(picture);
    model.observe(picture, milliseconds(100 * i));
  }
  ASSERT_TRUE(model.is_ready());
  for (int y = 0; y < 7; ++y)
    for (int x = 0; x < 3 * 41; ++x) {
      std::vector<int> values;
      for (const cv::Mat& picture : pictures) values.push_back(picture.ptr(y)[x]);
      std::ranges::sort(values);
      ASSERT_EQ(model.background().ptr(y)[x], values[4]) << x << "," << y;
    }
}

TEST(BackgroundModel, SpacesItsSamplesOutInTheStreamsTime) {
  BackgroundModel model;
  std::vector<std::pair<std::size_t, nanoseconds>> seen;
  for (int i = 0; i < 2000; ++i) {  // 50 pictures a second
    model.observe(wall({4, 4}), milliseconds(20 * i));
    seen.emplace_back(model.sample_count(), model.interval());
  }
  EXPECT_THAT(seen[0], testing::Pair(1u, milliseconds(100)));
  EXPECT_THAT(seen[149], testing::Pair(30u, milliseconds(100)));
  EXPECT_THAT(seen[150], testing::Pair(16u, milliseconds(200)));
  EXPECT_THAT(seen[299], testing::Pair(30u, milliseconds(200)));
  EXPECT_THAT(seen[300], testing::Pair(16u, milliseconds(400)));
  EXPECT_THAT(seen[1999], testing::Pair(30u, milliseconds(1000)));
}

TEST(BackgroundModel, ForgetsAnOldBackground) {
  BackgroundModel model;
  show(model, wall(), 100);
  const cv::Mat other = wall({64, 48}, 200);
  for (int i = 0; i < 40; ++i) model.observe(other, milliseconds(10'000 + 1000 * i));
  EXPECT_EQ(model.foreground(other, 20).share(), 0);
}

TEST(BackgroundModel, SpreadsAMedianOverSeveralCallsUntilItIsComplete) {
  BackgroundModel model({.samples = 3, .ready_at = 1, .scale = 1, .blur = 0, .refresh_calls = 4});
  show(model, wall(), 60);  // past the first medians, which are not spread over calls
  const cv::Mat other = wall({64, 48}, 200);
  for (int i = 0; i < 3; ++i) model.observe(other, milliseconds(60'000 + 1000 * i));
  // After the last sample, each call renews a quarter.
  const auto new_rows = [&] {
    cv::Mat is_new;
    cv::compare(model.background().reshape(1).col(0), 200, is_new, cv::CMP_EQ);
    return cv::countNonZero(is_new);
  };
  int rows = new_rows();
  EXPECT_LT(rows, 48);
  for (int i = 1; i <= 3; ++i) {
    model.observe(other, milliseconds(62'000 + i));
    EXPECT_GE(new_rows(), rows);
    rows = new_rows();
  }
  EXPECT_EQ(rows, 48);
}

TEST(BackgroundModel, StartsAgainWithPicturesOfAnotherSize) {
  BackgroundModel model;
  show(model, wall(), 10);
  model.observe(wall({32, 32}), milliseconds(1000));
  EXPECT_FALSE(model.is_ready());
  EXPECT_EQ(model.sample_count(), 1u);
  EXPECT_THAT([&] { model.foreground(wall(), 20); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("64x48")));
}

TEST(BackgroundModel, AcceptsPicturesOfAnySize) {
  for (const cv::Size size : {cv::Size(1, 1), {1, 5}, {3, 2}, {2001, 1}, {641, 479}}) {
    BackgroundModel model;
    show(model, wall(size), 6);
    EXPECT_TRUE(model.is_ready()) << size;
    EXPECT_EQ(model.foreground(wall(size), 20).share(), 0) << size;
    EXPECT_EQ(model.foreground(wall(size, 200), 20).share(), 1) << size;
  }
}

TEST(BackgroundModel, ScalesWithThePictureAndReportsItsMemory) {
  BackgroundModel model;
  show(model, wall({1920, 1080}), 8);
  EXPECT_EQ(model.scale(), 3);
  EXPECT_EQ(model.memory_bytes(), (8u + 2) * 640 * 360 * 3);
  model.reset();
  EXPECT_EQ(model.memory_bytes(), 0u);
}

TEST(BackgroundModel, DoesNotKeepThePictureThatItWasShown) {
  BackgroundModel model({.scale = 1});
  cv::Mat picture = wall();
  show(model, picture, 6);
  picture.setTo(cv::Scalar::all(7));
  EXPECT_EQ(model.background().at<cv::Vec3b>(3, 3), cv::Vec3b::all(100));
}

TEST(BackgroundModel, IsIndependentOfItsCopies) {
  for (const double blur : {0.0, 0.5}) {
    BackgroundModel model({.samples = 3, .ready_at = 1, .blur = blur});
    show(model, wall(), 10);
    const BackgroundModel copy = model;
    const std::size_t count = model.sample_count();
    BackgroundModel assigned;
    assigned = copy;
    show(model, wall({64, 48}, 200), 60, milliseconds(1000));
    ASSERT_EQ(model.background().at<cv::Vec3b>(3, 3), cv::Vec3b::all(200));
    for (const BackgroundModel* one : {&copy, &std::as_const(assigned)}) {
      EXPECT_EQ(one->background().at<cv::Vec3b>(3, 3), cv::Vec3b::all(100));
      EXPECT_EQ(one->foreground(wall(), 20).share(), 0);
      EXPECT_EQ(one->sample_count(), count);
    }
  }
}

TEST(BackgroundModel, TakesASampleWhenTimeGoesBack) {
  BackgroundModel model;
  model.observe(wall(), milliseconds(5000));
  model.observe(wall(), milliseconds(5010));
  EXPECT_EQ(model.sample_count(), 1u);
  model.observe(wall(), milliseconds(100));
  EXPECT_EQ(model.sample_count(), 2u);
}

TEST(BackgroundModel, RefusesWrongSettingsAndPictures) {
  using Settings = BackgroundSettings;
  const std::vector<std::pair<Settings, std::string>> wrong{
      {{.samples = 2}, "samples 2"},
      {{.samples = 256}, "samples 256"},
      {{.first_interval = milliseconds(0)}, "first_interval"},
      {{.last_interval = milliseconds(10)}, "last_interval"},
      {{.ready_at = 31}, "ready_at 31"},
      {{.scale = -1}, "scale -1"},
      {{.blur = -0.5}, "blur -0.5"},
      {{.refresh_calls = 0}, "refresh_calls 0"}};
  for (const auto& [settings, text] : wrong)
    EXPECT_THAT([&settings = settings] { BackgroundModel model(settings); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(text)));
  BackgroundModel model;
  EXPECT_THROW(model.observe(cv::Mat(), {}), InvalidArgument);
  EXPECT_THROW(model.observe(cv::Mat(4, 4, CV_8UC1), {}), InvalidArgument);
  show(model, wall(), 6);
  EXPECT_THROW(model.foreground(wall(), 256), InvalidArgument);
  EXPECT_THROW(model.foreground(cv::Mat(), 20), InvalidArgument);
}

}  // namespace
}  // namespace vcap
