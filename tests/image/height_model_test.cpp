// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/height_model.hpp"

#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using testing::HasSubstr;

TEST(HeightModel, LearnsTheLineOfItsSamples) {
  HeightModel model;
  for (int feet = 100; feet <= 500; feet += 20) model.add(feet, 20 + 0.25 * feet);
  EXPECT_FALSE(model.is_ready());
  ASSERT_TRUE(model.calibrate());
  EXPECT_NEAR(model.offset(), 20, 1e-9);
  EXPECT_NEAR(model.slope(), 0.25, 1e-9);
  EXPECT_NEAR(model.height_at(400), 120, 1e-9);
  EXPECT_NEAR(model.feet_below(400 - 120), 400, 1e-9)
      << "the place of the feet follows from that of the head";
}

TEST(HeightModel, ToleratesOutliers) {
  std::mt19937 engine(3);
  std::uniform_real_distribution<double> anywhere(100, 500), noise(-3, 3), height(10, 300);
  HeightModel model;
  for (int i = 0; i < 120; ++i) {
    const double feet = anywhere(engine);
    model.add(feet, i % 5 < 3 ? 20 + 0.25 * feet + noise(engine) : height(engine));
  }
  ASSERT_TRUE(model.calibrate());
  for (const double feet : {120.0, 300.0, 480.0})
    EXPECT_NEAR(model.height_at(feet), 20 + 0.25 * feet, 4) << feet;
}

TEST(HeightModel, NeedsManyConsistentSamplesThatAreFarApart) {
  HeightModel few;
  for (int i = 0; i < 11; ++i) few.add(100 + 30 * i, 60);
  EXPECT_FALSE(few.calibrate());

  HeightModel near;
  for (int i = 0; i < 50; ++i) near.add(300 + i, 60);
  EXPECT_FALSE(near.calibrate());
  near.add(360, 60);
  EXPECT_TRUE(near.calibrate());

  HeightModel scattered;
  for (int i = 0; i < 40; ++i) scattered.add(100 + 10 * i, 20 + 37 * i % 301);
  EXPECT_FALSE(scattered.calibrate());
}

TEST(HeightModel, RefusesALineThatGrowsTowardsTheHorizon) {
  HeightModel model;
  for (int i = 0; i < 40; ++i) model.add(100 + 10 * i, 300 - 7 * i);
  EXPECT_FALSE(model.calibrate());
  EXPECT_FALSE(model.is_ready());
}

TEST(HeightModel, KeepsTheOldLineIfNewSamplesDisagree) {
  HeightModel model({.max_samples = 20});
  for (int i = 0; i < 20; ++i) model.add(100 + 10 * i, 50);
  ASSERT_TRUE(model.calibrate());
  for (int i = 0; i < 20; ++i) model.add(300, 20 + 13 * i);
  EXPECT_FALSE(model.calibrate());
  EXPECT_NEAR(model.height_at(200), 50, 1e-9);
}

TEST(HeightModel, ForgetsSamplesBeyondItsMaximum) {
  HeightModel model({.max_samples = 30});
  for (int i = 0; i < 100; ++i) model.add(100 + 10 * (i % 30), 90);
  for (int i = 0; i < 30; ++i) model.add(100 + 10 * i, 50);
  EXPECT_EQ(model.sample_count(), 30u);
  ASSERT_TRUE(model.calibrate());
  EXPECT_NEAR(model.height_at(250), 50, 1e-9);
}

TEST(HeightModel, GivesNoHeightBelowTheLeastHeight) {
  const HeightModel model(0, 0.5);
  EXPECT_EQ(model.height_at(-1000), 20);
  EXPECT_EQ(model.height_at(100), 50);
}

TEST(HeightModel, RefusesWrongNumbers) {
  const auto refuses = [](const auto& call, const std::string& text) {
    EXPECT_THAT(call, ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(text)));
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  refuses([] { HeightModel({.max_samples = 1}); }, "max_samples 1");
  refuses([] { HeightModel({.min_samples = 300}); }, "min_samples 300");
  refuses([] { HeightModel({.tolerance = 0}); }, "tolerance 0");
  refuses([] { HeightModel(0, 1); }, "slope 1");
  refuses([] { HeightModel(0, -0.1); }, "slope -0.1");
  refuses([] { HeightModel().add(nan, 1); }, "feet");
  refuses([] { HeightModel().add(1, 0); }, "height 0");
  refuses([] { HeightModel().height_at(1); }, "is_ready()");
  refuses([] { HeightModel().feet_below(1); }, "is_ready()");
}

}  // namespace
}  // namespace vcap
