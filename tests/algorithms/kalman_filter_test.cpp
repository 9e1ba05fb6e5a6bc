// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/kalman_filter.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using ::testing::HasSubstr;
using Covariance = cv::Matx<double, 8, 8>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

BoundingBox box_at(double x, double y, double width = 40, double height = 100) {
  return {x - width / 2, y - height / 2, x + width / 2, y + height / 2};
}

/// A person who walks to the right along a curve and comes nearer.
BoundingBox walker(double t) {
  return box_at(100 + 60 * t, 200 + 20 * std::sin(t), 40 + 2 * t, 100 + 5 * t);
}

KalmanFilter followed(double frames_per_second, double until) {
  KalmanFilter filter(walker(0));
  const nanoseconds dt(std::llround(1e9 / frames_per_second));
  for (int frame = 1; frame <= std::lround(until * frames_per_second); ++frame) {
    filter.predict(dt);
    filter.update(walker(frame / frames_per_second));
  }
  return filter;
}

void expect_near(const Covariance& a, const Covariance& b, double share) {
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j)
      EXPECT_NEAR(a(i, j), b(i, j), share * std::sqrt(b(i, i) * b(j, j))) << i << ", " << j;
}

TEST(KalmanFilter, BeginsAtTheMeasuredBoxAtRest) {
  const KalmanFilter filter({10, 20, 50, 120});
  EXPECT_EQ(filter.box(), (BoundingBox{10, 20, 50, 120}));
  EXPECT_EQ(filter.state(), (cv::Vec<double, 8>(30, 70, 40, 100, 0, 0, 0, 0)));
  EXPECT_NEAR(filter.centre_deviation()[0], 3, 1e-12) << "0.03 heights";
}

TEST(KalmanFilter, LearnsTheVelocityOfAStraightWalk) {
  KalmanFilter filter(box_at(0, 0));
  for (int frame = 1; frame <= 50; ++frame) {
    filter.predict(milliseconds(100));
    filter.update(box_at(8 * frame, -3 * frame));
  }
  EXPECT_NEAR(filter.state()[4], 80, 0.5);
  EXPECT_NEAR(filter.state()[5], -30, 0.5);
  EXPECT_NEAR(filter.box().centre().x, 400, 0.5);
  filter.predict(milliseconds(500));
  EXPECT_NEAR(filter.box().centre().x, 440, 1);
}

TEST(KalmanFilter, PredictsTheSameInOneStepAndInMany) {
  KalmanFilter once = followed(10, 3), often = once, coasted = once, coasted_often = once;
  once.predict(milliseconds(1000));
  coasted.coast(milliseconds(1000), milliseconds(700));
  for (int i = 0; i < 40; ++i) {
    often.predict(milliseconds(25));
    coasted_often.coast(milliseconds(25), milliseconds(700));
  }
  EXPECT_LT(cv::norm(once.state() - often.state()), 1e-9);
  expect_near(often.covariance(), once.covariance(), 1e-9);
  EXPECT_LT(cv::norm(coasted.state() - coasted_often.state()), 1e-9);
  expect_near(coasted_often.covariance(), coasted.covariance(), 1e-9);
}

TEST(KalmanFilter, CoastsLikeItPredictsIfVelocitiesHardlyFade) {
  KalmanFilter predicted = followed(10, 3), coasted = predicted;
  predicted.predict(milliseconds(400));
  coasted.coast(milliseconds(400), std::chrono::hours(100));
  EXPECT_LT(cv::norm(predicted.state() - coasted.state()), 1e-3);
  expect_near(coasted.covariance(), predicted.covariance(), 1e-4);
}

TEST(KalmanFilter, ComesToRestWhileItCoasts) {
  KalmanFilter filter = followed(10, 5);
  const double velocity = filter.state()[4], x = filter.state()[0];
  filter.coast(milliseconds(500), milliseconds(500));
  EXPECT_NEAR(filter.state()[4], velocity / std::exp(1.0), 1e-9);
  filter.coast(std::chrono::seconds(60), milliseconds(500));
  EXPECT_NEAR(filter.state()[4], 0, 1e-9);
  EXPECT_NEAR(filter.state()[0], x + velocity * 0.5, 1e-6);
}

TEST(KalmanFilter, GivesSimilarStatesAtThirtyTenAndFiveFramesASecond) {
  for (const double t : {1.0, 2.0, 5.0, 8.0}) {
    SCOPED_TRACE("after " + std::to_string(t) + " s");
    const KalmanFilter slow = followed(5, t), medium = followed(10, t), fast = followed(30, t);
    for (const KalmanFilter* filter : {&medium, &fast}) {
      const double height = slow.box().height();
      for (int i = 0; i < 4; ++i) {
        EXPECT_NEAR(filter->state()[i], slow.state()[i], 0.02 * height);
        EXPECT_NEAR(filter->state()[i + 4], slow.state()[i + 4], 0.05 * height);
      }
      for (int i = 0; i < 8; ++i) {
        const double ratio = filter->covariance()(i, i) / slow.covariance()(i, i);
        EXPECT_GT(std::sqrt(ratio), 1 / 1.45) << i;
        EXPECT_LT(std::sqrt(ratio), 1.45) << i;
      }
    }
  }
}

// With independent errors, 30 frames have a sixth of the variance of 5 frames.
TEST(KalmanFilter, CountsFramesAsIndependentIfErrorsAreNotCorrelated) {
  const auto variance = [](int frames) {
    KalmanFilter filter(box_at(0, 0),
                        {.correlation = nanoseconds(0), .drift = 0, .acceleration = 0, .speed = 0});
    for (int i = 1; i < frames; ++i) {
      filter.predict(milliseconds(1000) / frames);
      filter.update(box_at(0, 0));
    }
    return filter.covariance()(0, 0);
  };
  EXPECT_NEAR(variance(5), 9 / 5.0, 1e-9);
  EXPECT_NEAR(variance(30), 9 / 30.0, 1e-9);
}

TEST(KalmanFilter, TrustsANoisyBoxLess) {
  KalmanFilter sure = followed(10, 2), unsure = sure;
  sure.predict(milliseconds(100));
  unsure.predict(milliseconds(100));
  const double x = sure.box().centre().x;
  sure.update(box_at(x + 20, 200));
  unsure.update(box_at(x + 20, 200), 3);
  EXPECT_GT(sure.box().centre().x - x, 2 * (unsure.box().centre().x - x));
  EXPECT_GT(unsure.box().centre().x, x);
}

TEST(KalmanFilter, HardlyMovesForASecondBoxAtTheSameTime) {
  KalmanFilter filter = followed(10, 2);
  const KalmanFilter before = filter;
  filter.predict(nanoseconds(0));
  EXPECT_EQ(filter, before);
  const double x = filter.box().centre().x;
  filter.update(box_at(x + 20, filter.box().centre().y));
  EXPECT_NEAR(filter.box().centre().x, x, 1);
}

TEST(KalmanFilter, MeasuresDistanceInStandardDeviations) {
  const KalmanFilter filter(box_at(0, 0));  // standard deviations: filter 3, measurement 3
  EXPECT_EQ(filter.gating_distance(box_at(0, 0)), 0);
  EXPECT_NEAR(filter.gating_distance(box_at(3, 0)), 0.5, 1e-12);
  EXPECT_NEAR(filter.gating_distance(box_at(3, 6, 43, 91)), 0.5 + 2 + 0.5 + 4.5, 1e-12);
  EXPECT_NEAR(filter.centre_gating_distance(box_at(3, 6, 43, 91)), 2.5, 1e-12);
}

// Measures the gates' shares on boxes that follow the filter's own model.
TEST(KalmanFilter, AcceptsThePromisedShareOfBoxesInItsGate) {
  std::mt19937 engine(1);
  std::normal_distribution<double> normal;
  const double dt = 0.1, h = 100;
  const BoxMotion motion{.correlation = nanoseconds(0), .drift = 0, .growth = 1};
  int inside = 0, centre_inside = 0, count = 0;
  for (int round = 0; round < 300; ++round) {
    cv::Vec4d place(0, 0, 40, h), velocity;
    for (int i = 0; i < 4; ++i) velocity[i] = motion.speed * h * normal(engine);
    const auto measured = [&] {
      cv::Vec4d m = place;
      for (int i = 0; i < 4; ++i) m[i] += motion.measurement * h * normal(engine);
      return m;
    };
    // Only the first few steps: the noise here does not follow the size, which changes later.
    cv::Vec4d m = measured();
    KalmanFilter filter(box_at(m[0], m[1], std::max(1.0, m[2]), h), motion);
    place[3] = h + motion.measurement * h * normal(engine);
    for (int step = 0; step < 3; ++step) {
      for (int i = 0; i < 4; ++i) {
        const double a = normal(engine), b = normal(engine);
        const double change = motion.acceleration * h * std::sqrt(dt) * a;
        place[i] += velocity[i] * dt + change * dt / 2 +
                    motion.acceleration * h * std::sqrt(dt * dt * dt / 12) * b;
        velocity[i] += change;
      }
      filter.predict(milliseconds(100));
      m = measured();
      if (m[2] < 1 || m[3] < 1) break;
      const BoundingBox box = box_at(m[0], m[1], m[2], m[3]);
      inside += filter.gating_distance(box) < KalmanFilter::kGate;
      centre_inside += filter.centre_gating_distance(box) < KalmanFilter::kCentreGate;
      ++count;
      filter.update(box);
    }
  }
  ASSERT_GT(count, 800);
  EXPECT_NEAR(static_cast<double>(inside) / count, 0.95, 0.03);
  EXPECT_NEAR(static_cast<double>(centre_inside) / count, 0.99, 0.015);
}

TEST(KalmanFilter, ScalesWithTheBox) {
  const auto walk = [](double factor) {
    const auto scaled = [&](double t) {
      const BoundingBox b = walker(t);
      return BoundingBox{b.x1 * factor, b.y1 * factor, b.x2 * factor, b.y2 * factor};
    };
    KalmanFilter filter(scaled(0));
    for (int frame = 1; frame <= 20; ++frame) {
      filter.predict(milliseconds(40));
      filter.update(scaled(frame * 0.04));
    }
    return filter;
  };
  EXPECT_LT(cv::norm(walk(4).state() - 4 * walk(1).state()), 1e-8);
  expect_near(walk(4).covariance(), walk(1).covariance() * 16, 1e-9);
}

TEST(KalmanFilter, KeepsAValidCovarianceInLongAndOddRuns) {
  std::mt19937 engine(2);
  std::uniform_real_distribution<double> any(0, 1);
  for (int round = 0; round < 20; ++round) {
    KalmanFilter filter(box_at(0, 0, 1 + 500 * any(engine), 1 + 500 * any(engine)));
    for (int step = 0; step < 2000; ++step) {
      const nanoseconds dt(std::llround(std::pow(10, 10 * any(engine))));
      if (any(engine) < 0.5)
        filter.predict(dt);
      else
        filter.coast(dt, milliseconds(300));
      if (any(engine) < 0.7)
        filter.update(box_at(1e4 * any(engine), 1e4 * any(engine), 1 + 500 * any(engine),
                             1 + 500 * any(engine)),
                      0.1 + 3 * any(engine));
      const Covariance p = filter.covariance();
      for (int i = 0; i < 4; ++i) {
        ASSERT_GT(p(i, i), 0);
        ASSERT_GE(p(i + 4, i + 4), 0);
        ASSERT_LE(p(i, i + 4) * p(i, i + 4), p(i, i) * p(i + 4, i + 4) * (1 + 1e-9));
      }
      ASSERT_GT(filter.box().width(), 0);
      ASSERT_GT(filter.box().height(), 0);
      ASSERT_TRUE(std::isfinite(cv::norm(filter.state())));
    }
  }
}

TEST(KalmanFilter, ContinuesExactlyFromASavedState) {
  KalmanFilter filter = followed(30, 1.3);
  filter.coast(milliseconds(77), milliseconds(300));
  KalmanFilter restored = KalmanFilter::restore(nlohmann::json::parse(filter.save().dump()));
  EXPECT_EQ(restored, filter);
  for (KalmanFilter* each : {&filter, &restored}) {
    each->predict(milliseconds(33));
    each->update(walker(1.5));
  }
  EXPECT_EQ(restored, filter);
}

TEST(KalmanFilter, UsesNewMotionSettingsFromThenOn) {
  KalmanFilter filter = followed(10, 2), lively = filter;
  lively.set_motion({.acceleration = 3});
  filter.predict(milliseconds(500));
  lively.predict(milliseconds(500));
  EXPECT_EQ(lively.state(), filter.state());
  EXPECT_GT(lively.covariance()(0, 0), 1.5 * filter.covariance()(0, 0));
  EXPECT_THROW(lively.set_motion({.drift = -1}), InvalidArgument);
}

TEST(KalmanFilter, RefusesAnInvalidSavedState) {
  const nlohmann::json saved = KalmanFilter(walker(0)).save();
  const auto refuses = [](const nlohmann::json& json) {
    try {
      KalmanFilter::restore(json);
    } catch (const InvalidArgument& error) {
      return error.code() == ErrorCode::invalid_json;
    }
    return false;
  };
  EXPECT_TRUE(refuses(nullptr));
  for (const char* key : {"axes", "scale", "since_update"}) {
    nlohmann::json without = saved, other = saved;
    without.erase(key);
    EXPECT_TRUE(refuses(without)) << key;
    other[key] = "text";
    EXPECT_TRUE(refuses(other)) << key;
    other[key] = -1;
    EXPECT_TRUE(refuses(other)) << key;
  }
  nlohmann::json negative = saved;
  negative["axes"][1][2] = -1;
  EXPECT_TRUE(refuses(negative));
}

TEST(KalmanFilter, RefusesInvalidBoxesAndTimes) {
  for (const BoundingBox& box :
       {BoundingBox{kNan, 0, 1, 1}, BoundingBox{0, 0, kInf, 1}, BoundingBox{5, 0, 1, 1},
        BoundingBox{0, 1, 1, 1}, BoundingBox{0, 0, 1, 2e9}, BoundingBox{0, 0, 1e-7, 1}}) {
    EXPECT_THROW(KalmanFilter{box}, InvalidArgument);
    KalmanFilter filter(walker(0));
    const KalmanFilter before = filter;
    EXPECT_THROW(filter.update(box), InvalidArgument);
    EXPECT_EQ(filter, before);
  }
  KalmanFilter filter(walker(0));
  EXPECT_THROW(filter.predict(nanoseconds(-1)), InvalidArgument);
  EXPECT_THROW(filter.coast(nanoseconds(1), nanoseconds(0)), InvalidArgument);
  for (const double noise : {0.0, -1.0, kNan, kInf})
    EXPECT_THROW(filter.update(walker(0), noise), InvalidArgument);
}

TEST(KalmanFilter, NamesTheInvalidValueOfAMotion) {
  const auto message = [](const BoxMotion& motion) -> std::string {
    try {
      KalmanFilter(walker(0), motion);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(message({.measurement = 0}), HasSubstr("measurement is 0.0"));
  EXPECT_THAT(message({.correlation = nanoseconds(-1)}), HasSubstr("correlation"));
  EXPECT_THAT(message({.drift = -1}), HasSubstr("drift is -1.0"));
  EXPECT_THAT(message({.acceleration = kNan}), HasSubstr("acceleration"));
  EXPECT_THAT(message({.speed = kInf}), HasSubstr("speed"));
  EXPECT_THAT(message({.growth = -0.5}), HasSubstr("growth is -0.5"));
}

}  // namespace
}  // namespace vcap
