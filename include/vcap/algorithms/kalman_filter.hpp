// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>

#include <nlohmann/json_fwd.hpp>
#include <opencv2/core/matx.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// How boxes move, and how well they are measured. The unit of length is the height of the box,
/// since near things move by more pixels than far ones. The defaults suit people. Thread safety:
/// value.
struct BoxMotion {
  /// Standard deviation of a measured centre, width or height.
  double measurement = 0.03;
  /// How long a detector's error stays about the same. Two frames within this time are nearly the
  /// same picture, and together weigh little more than one. So streams of many and of few frames a
  /// second weigh about the same.
  std::chrono::nanoseconds correlation = std::chrono::milliseconds(100);
  double drift = 0.1;         ///< random walk of the centre and size after a second
  double acceleration = 1.0;  ///< random change of velocity after a second, in heights a second
  double speed = 1.0;         ///< standard deviation of a new box's velocity, in heights a second
  /// Velocity and acceleration of width and height, as shares of `speed` and `acceleration`.
  double growth = 0.3;

  bool operator==(const BoxMotion&) const = default;
};

/// A Kalman filter for a box that moves at a nearly constant velocity, in continuous time.
///
/// The state is (cx, cy, w, h) in pixels and their velocities in pixels a second. Process noise is
/// integrated over the time that passes, so one long step and many short ones predict the same.
/// Streams of 5, 10 and 30 frames a second give nearly the same tracks. Noise is scaled by the
/// height at the last update. Noise is independent on each of the four axes, so the 8×8 covariance
/// consists of four 2×2 blocks. They are computed in double precision, in a form that stays
/// symmetric and positive (P' = P·R/S).
///
/// Sources: R. E. Kalman, "A new approach to linear filtering and prediction problems", 1960; for
/// boxes A. Bewley et al., "Simple online and realtime tracking" (SORT), ICIP 2016; noise by the
/// height N. Wojke et al., "Simple online and realtime tracking with a deep association metric"
/// (DeepSORT), ICIP 2017; width in place of the aspect ratio N. Aharon et al., "BoT-SORT", 2022.
/// Thread safety: value.
class VCAP_EXPORT KalmanFilter {
 public:
  /// 95 % of the right boxes have a gating distance below it (chi-square, 4 degrees of freedom).
  static constexpr double kGate = 9.4877;
  /// 99 % of the right boxes have a centre_gating_distance() below it (2 degrees of freedom).
  static constexpr double kCentreGate = 9.2103;

  /// Begins at a measured box of unknown velocity. Throws InvalidArgument if the box has a
  /// coordinate that is not within ±1e9, or a side that is not within 1e-6 to 1e9; or if `motion`
  /// has a value that is negative or not finite, or a `measurement` of 0.
  explicit KalmanFilter(const BoundingBox& box, const BoxMotion& motion = {});
  /// Continues exactly from a result of save(); throws InvalidArgument (invalid_json) if it has
  /// another form. save() does not save the motion.
  static KalmanFilter restore(const nlohmann::json& saved, const BoxMotion& motion = {});

  /// The most likely box; its sides are above 0.
  BoundingBox box() const noexcept;
  /// (cx, cy, w, h) in pixels, and their velocities in pixels a second.
  cv::Vec<double, 8> state() const noexcept;
  /// The covariance of state(); its units are products of those of state().
  cv::Matx<double, 8, 8> covariance() const noexcept;
  /// Standard deviations of the centre's x and y, in pixels.
  cv::Vec2d centre_deviation() const noexcept;

  /// The squared Mahalanobis distance of a measured box from the predicted one, over centre, width
  /// and height; compare it with kGate.
  double gating_distance(const BoundingBox& box) const noexcept;
  /// The same for the centre alone; compare it with kCentreGate. Partial occlusion moves the centre
  /// less than it changes the size.
  double centre_gating_distance(const BoundingBox& box) const noexcept;

  /// Predicts the state `dt` later, at a nearly constant velocity. Throws InvalidArgument if `dt`
  /// is negative; 0 changes nothing.
  void predict(std::chrono::nanoseconds dt);
  /// Predicts while nothing is measured: velocities fall by the factor e every `fading`. Velocities
  /// of the size fall four times as fast: a box shrinks while the thing in it is being covered, but
  /// the thing does not shrink. Throws InvalidArgument if `dt` is negative or `fading` is not above
  /// 0. Source of the motion: the integrated Ornstein-Uhlenbeck process, as in L. D. Stone et al.,
  /// "Bayesian multiple target tracking", 2014.
  void coast(std::chrono::nanoseconds dt, std::chrono::nanoseconds fading);

  /// Corrects the state by a measured box, whose standard deviation is `noise` times the usual one.
  /// Throws InvalidArgument as the constructor does, and if `noise` is not a finite number above 0.
  void update(const BoundingBox& box, double noise = 1);

  /// Uses another motion from now on; throws InvalidArgument as the constructor does.
  void set_motion(const BoxMotion& motion);

  /// The state for restore(). Its numbers keep their exact values in JSON text.
  nlohmann::json save() const;

  bool operator==(const KalmanFilter&) const = default;

 private:
  KalmanFilter() = default;

  /// A place and its velocity, with their covariance.
  struct Axis {
    double place = 0, velocity = 0;
    double pp = 0, pv = 0, vv = 0;

    bool operator==(const Axis&) const = default;
  };

  double measurement_variance() const noexcept;

  BoxMotion motion_;
  std::array<Axis, 4> axes_{};  ///< cx, cy, w, h
  double scale_ = 0;            ///< the height at the last update
  std::chrono::nanoseconds since_update_{0};
};

}  // namespace vcap
