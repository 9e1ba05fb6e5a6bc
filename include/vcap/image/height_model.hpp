// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include <opencv2/core/types.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// How a HeightModel learns. Thread safety: value.
struct HeightSettings {
  std::size_t max_samples = 200;  ///< how many of the latest samples count, 2…1000
  std::size_t min_samples = 12;   ///< with fewer samples there is no model
  double min_range = 60;          ///< nor if their feet are all less than this apart, in pixels
  /// Lines are tried only through two samples at least this far apart, in pixels, > 0.
  double min_pair_distance = 20;
  double tolerance = 0.1;       ///< an inlier is off by less than this share of its height, > 0
  std::size_t min_inliers = 8;  ///< needed for a model, and at least half of the samples
  double min_height = 20;       ///< the minimum result of height_at(), in pixels, > 0
};

/// How tall people are in the picture of a fixed camera, depending on where their feet are.
///
/// If the camera looks from above and is not tilted sideways, people on a plane have heights that
/// grow in proportion to the distance of their feet below the horizon: height = offset + slope ·
/// feet. This class learns offset and slope from samples; up to half of them may be wrong.
///
/// Source: D. Hoiem, A. A. Efros, M. Hebert, "Putting objects in perspective", CVPR 2006 (heights
/// over a ground plane); M. A. Fischler, R. C. Bolles, "Random sample consensus", CACM 24(6), 1981,
/// here over all pairs and therefore deterministic. Thread safety: value.
class VCAP_EXPORT HeightModel {
 public:
  /// Throws InvalidArgument that names the setting, its value and what is allowed.
  explicit HeightModel(const HeightSettings& settings = {});
  /// A model that is known, such as from a calibrated camera. Throws InvalidArgument if a number is
  /// not finite or the slope is outside 0…0.9.
  HeightModel(double offset, double slope, const HeightSettings& settings = {});

  /// Adds a person whose feet are at `feet` (y of the bottom edge) and whose height is `height`,
  /// both in pixels. Throws InvalidArgument if one is not finite or the height is not positive.
  void add(double feet, double height);
  /// Fits the line again. Returns whether the samples agreed; if not, the earlier line stays. Time:
  /// of order max_samples³ / 2, such as 5 ms for 200.
  bool calibrate();

  bool is_ready() const noexcept { return line_.has_value(); }
  /// The height of a person with feet at y = `feet`, at least min_height. Requires is_ready().
  double height_at(double feet) const;
  /// The y of the feet of a person whose head is at y = `top`. Requires is_ready().
  double feet_below(double top) const;

  double offset() const { return line().offset; }
  double slope() const { return line().slope; }
  std::size_t sample_count() const noexcept { return samples_.size(); }

 private:
  struct Line {
    double offset, slope;
  };
  /// Throws InvalidArgument if the model is not ready.
  const Line& line() const;

  HeightSettings settings_;
  std::deque<cv::Point2d> samples_{};  // feet and height; the oldest one first
  std::optional<Line> line_{};
};

}  // namespace vcap
