// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/kalman_filter.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include "algorithms/check_box.hpp"

namespace vcap {
namespace {

using std::chrono::nanoseconds;

double in_seconds(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

void check_motion(const BoxMotion& motion) {
  const auto check = [](const char* name, double value, bool is_right, const char* allowed) {
    if (!is_right || !std::isfinite(value))
      throw InvalidArgument(ErrorCode::invalid_argument,
                            std::string("BoxMotion: ") + name + " is " + number_text(value) +
                                "; it must be a finite number " + allowed);
  };
  check("measurement", motion.measurement, motion.measurement > 0, "above 0");
  check("correlation (seconds)", in_seconds(motion.correlation), motion.correlation.count() >= 0,
        "of 0 or above");
  check("drift", motion.drift, motion.drift >= 0, "of 0 or above");
  check("acceleration", motion.acceleration, motion.acceleration >= 0, "of 0 or above");
  check("speed", motion.speed, motion.speed >= 0, "of 0 or above");
  check("growth", motion.growth, motion.growth >= 0, "of 0 or above");
}

void check_step(nanoseconds dt) {
  if (dt.count() < 0)
    throw InvalidArgument(ErrorCode::invalid_argument, "KalmanFilter: a time of " +
                                                           std::to_string(dt.count()) +
                                                           " ns is negative; it must be >= 0");
}

/// Integrals over a time t in which velocities fade away by the factor e every `fading` seconds.
/// Without fading, they are the integrals of constant velocity.
struct Transition {
  double velocity;    ///< the part of a velocity that remains
  double way;         ///< the distance that a velocity of 1 covers
  double vv, pv, pp;  ///< what white noise of density 1 in the acceleration adds

  static Transition constant(double t) {
    return {.velocity = 1, .way = t, .vv = t, .pv = t * t / 2, .pp = t * t * t / 3};
  }

  static Transition fading(double t, double fading) {
    const double x = t / fading;
    const double gone = -std::expm1(-x);            // 1 − e^−x
    const double gone_twice = -std::expm1(-2 * x);  // 1 − e^−2x
    return {.velocity = 1 - gone,
            .way = fading * gone,
            .vv = fading / 2 * gone_twice,
            .pv = fading * fading / 2 * gone * gone,
            .pp = fading * fading * fading * cubic(x, gone, gone_twice)};
  }

 private:
  /// x − 2(1 − e^−x) + (1 − e^−2x)/2, which is x³/3 − x⁴/4 + … for small x.
  static double cubic(double x, double gone, double gone_twice) {
    if (x > 0.1) return x - 2 * gone + gone_twice / 2;
    double sum = 0, power = x * x / 2, two = 2;  // (−x)^n/n! and 2^(n−1), from n = 2 on
    for (int n = 3; n < 12; ++n) {
      power *= -x / n;
      two *= 2;
      sum += (2 - two) * power;
    }
    return sum;
  }
};

}  // namespace

KalmanFilter::KalmanFilter(const BoundingBox& box, const BoxMotion& motion) : motion_(motion) {
  check_motion(motion);
  check_box("KalmanFilter", box);
  scale_ = box.height();
  const double place_deviation = motion.measurement * scale_;
  const cv::Vec4d places(box.centre().x, box.centre().y, box.width(), box.height());
  for (int i = 0; i < 4; ++i) {
    const double velocity_deviation = motion.speed * scale_ * (i < 2 ? 1 : motion.growth);
    axes_[static_cast<std::size_t>(i)] = {.place = places[i],
                                          .pp = place_deviation * place_deviation,
                                          .vv = velocity_deviation * velocity_deviation};
  }
}

BoundingBox KalmanFilter::box() const noexcept {
  // The predicted size of a shrinking box would become negative after some time.
  const double width = std::max(axes_[2].place, 1e-6), height = std::max(axes_[3].place, 1e-6);
  return {axes_[0].place - width / 2, axes_[1].place - height / 2, axes_[0].place + width / 2,
          axes_[1].place + height / 2};
}

cv::Vec<double, 8> KalmanFilter::state() const noexcept {
  cv::Vec<double, 8> state;
  for (int i = 0; i < 4; ++i) {
    state[i] = axes_[static_cast<std::size_t>(i)].place;
    state[i + 4] = axes_[static_cast<std::size_t>(i)].velocity;
  }
  return state;
}

cv::Matx<double, 8, 8> KalmanFilter::covariance() const noexcept {
  cv::Matx<double, 8, 8> covariance;
  for (int i = 0; i < 4; ++i) {
    const Axis& axis = axes_[static_cast<std::size_t>(i)];
    covariance(i, i) = axis.pp;
    covariance(i, i + 4) = covariance(i + 4, i) = axis.pv;
    covariance(i + 4, i + 4) = axis.vv;
  }
  return covariance;
}

cv::Vec2d KalmanFilter::centre_deviation() const noexcept {
  return {std::sqrt(axes_[0].pp), std::sqrt(axes_[1].pp)};
}

double KalmanFilter::gating_distance(const BoundingBox& box) const noexcept {
  const double variance = measurement_variance();
  const double width = box.width() - axes_[2].place, height = box.height() - axes_[3].place;
  return centre_gating_distance(box) + width * width / (axes_[2].pp + variance) +
         height * height / (axes_[3].pp + variance);
}

double KalmanFilter::centre_gating_distance(const BoundingBox& box) const noexcept {
  const double variance = measurement_variance();
  const double x = box.centre().x - axes_[0].place, y = box.centre().y - axes_[1].place;
  return x * x / (axes_[0].pp + variance) + y * y / (axes_[1].pp + variance);
}

void KalmanFilter::predict(nanoseconds dt) { coast(dt, nanoseconds::max()); }

void KalmanFilter::coast(nanoseconds dt, nanoseconds fading) {
  check_step(dt);
  if (fading.count() <= 0)
    throw InvalidArgument(ErrorCode::invalid_argument, "KalmanFilter: invalid fading time of " +
                                                           std::to_string(fading.count()) +
                                                           " ns: it must be > 0");
  if (dt.count() == 0) return;
  const double t = in_seconds(dt);
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const bool is_size = i >= 2;
    const Transition step = fading == nanoseconds::max()
                                ? Transition::constant(t)
                                : Transition::fading(t, in_seconds(fading) / (is_size ? 4 : 1));
    const double acceleration = motion_.acceleration * scale_ * (is_size ? motion_.growth : 1);
    const double density = acceleration * acceleration;
    const double drift = motion_.drift * scale_;
    Axis& axis = axes_[i];
    axis.place += step.way * axis.velocity;
    axis.velocity *= step.velocity;
    axis.pp +=
        step.way * (2 * axis.pv + step.way * axis.vv) + density * step.pp + drift * drift * t;
    axis.pv = step.velocity * (axis.pv + step.way * axis.vv) + density * step.pv;
    axis.vv = step.velocity * step.velocity * axis.vv + density * step.vv;
  }
  // Saturates at the greatest time: beyond it, the value makes no difference.
  since_update_ = since_update_ > nanoseconds::max() - dt ? nanoseconds::max() : since_update_ + dt;
}

void KalmanFilter::update(const BoundingBox& box, double noise) {
  check_box("KalmanFilter", box);
  if (!(noise > 0) || !std::isfinite(noise))
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "KalmanFilter: a noise of " + number_text(noise) +
                              " times the usual is not a finite number above 0");
  // Errors that fade with the correlation's time constant are sampled every dt. Their mean is as
  // uncertain as that of independent errors of (1 + r) / (1 − r) times the variance, with r =
  // e^(−dt/constant). The factor is bounded, so that a second box at one time still counts a
  // little.
  constexpr double kMost = 100;
  const double x = in_seconds(since_update_) / (2 * in_seconds(motion_.correlation));
  const double repeated = x > 1 / kMost ? std::min(kMost, 1 / std::tanh(x)) : kMost;
  const double factor = motion_.correlation.count() == 0 ? 1 : repeated;
  const double variance = measurement_variance() * factor * noise * noise;
  const cv::Vec4d places(box.centre().x, box.centre().y, box.width(), box.height());
  for (int i = 0; i < 4; ++i) {
    Axis& axis = axes_[static_cast<std::size_t>(i)];
    const double sum = axis.pp + variance;
    const double error = places[i] - axis.place;
    axis.place += axis.pp / sum * error;
    axis.velocity += axis.pv / sum * error;
    // All factors are 0 or above, so that no rounding makes a variance negative.
    axis.vv = (axis.vv * variance + std::max(0.0, axis.pp * axis.vv - axis.pv * axis.pv)) / sum;
    axis.pv *= variance / sum;
    axis.pp *= variance / sum;
  }
  scale_ = std::max(axes_[3].place, box.height() / 10);
  since_update_ = nanoseconds(0);
}

double KalmanFilter::measurement_variance() const noexcept {
  const double deviation = motion_.measurement * scale_;
  return deviation * deviation;
}

nlohmann::json KalmanFilter::save() const {
  nlohmann::json axes = nlohmann::json::array();
  for (const Axis& axis : axes_)
    axes.push_back({axis.place, axis.velocity, axis.pp, axis.pv, axis.vv});
  return {{"axes", std::move(axes)}, {"scale", scale_}, {"since_update", since_update_.count()}};
}

KalmanFilter KalmanFilter::restore(const nlohmann::json& saved, const BoxMotion& motion) {
  KalmanFilter filter;
  filter.set_motion(motion);
  try {
    const auto axes = saved.at("axes").get<std::array<std::array<double, 5>, 4>>();
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto& [place, velocity, pp, pv, vv] = axes[i];
      if (saved.at("axes").at(i).size() != 5 || !(pp > 0) || !(vv >= 0))
        throw InvalidArgument(
            ErrorCode::invalid_json,
            "KalmanFilter: saved axis " + std::to_string(i) +
                " is not (place, velocity, variances); give the result of save()");
      filter.axes_[i] = {place, velocity, pp, pv, vv};
    }
    filter.scale_ = saved.at("scale").get<double>();
    filter.since_update_ = nanoseconds(saved.at("since_update").get<std::int64_t>());
  } catch (const nlohmann::json::exception& error) {
    throw InvalidArgument(ErrorCode::invalid_json,
                          std::string("KalmanFilter: not a result of save(): ") + error.what());
  }
  if (!(filter.scale_ > 0) || filter.since_update_.count() < 0)
    throw InvalidArgument(ErrorCode::invalid_json,
                          "KalmanFilter: a saved scale of " + number_text(filter.scale_) +
                              " must be above 0, and a saved time of " +
                              std::to_string(filter.since_update_.count()) +
                              " ns 0 or above; give the result of save()");
  return filter;
}

void KalmanFilter::set_motion(const BoxMotion& motion) {
  check_motion(motion);
  motion_ = motion;
}

}  // namespace vcap
