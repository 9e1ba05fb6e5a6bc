// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/height_model.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// With a steeper line, a head would not determine the height.
constexpr double kMaxSlope = 0.9;
/// The least height to which the tolerance is applied, in pixels, for lines near 0 or below.
constexpr double kLeastPredicted = 10;

void require_heights(bool is_allowed, const std::string& what) {
  if (!is_allowed) throw InvalidArgument(ErrorCode::invalid_argument, "height model: " + what);
}

void require_positive_height(const char* what, double value) {
  require_heights(std::isfinite(value) && value > 0,
                  std::string(what) + " " + number_text(value) + " is not a number above 0");
}

void check(const HeightSettings& settings) {
  require_heights(
      settings.max_samples >= 2 && settings.max_samples <= 1000,
      "max_samples " + std::to_string(settings.max_samples) + " is not within 2 to 1000");
  require_heights(settings.min_samples >= 2 && settings.min_samples <= settings.max_samples,
                  "min_samples " + std::to_string(settings.min_samples) +
                      " is not within 2 to max_samples, " + std::to_string(settings.max_samples));
  require_positive_height("min_range", settings.min_range);
  require_positive_height("min_pair_distance", settings.min_pair_distance);
  require_positive_height("tolerance", settings.tolerance);
  require_positive_height("min_height", settings.min_height);
}

bool is_inlier(cv::Point2d sample, double predicted, double tolerance) {
  return std::abs(sample.y - predicted) < tolerance * std::max(predicted, kLeastPredicted);
}

}  // namespace

HeightModel::HeightModel(const HeightSettings& settings) : settings_(settings) { check(settings); }

HeightModel::HeightModel(double offset, double slope, const HeightSettings& settings)
    : HeightModel(settings) {
  require_heights(std::isfinite(offset), "offset " + number_text(offset) + " is not finite");
  require_heights(slope >= 0 && slope <= kMaxSlope,
                  "slope " + number_text(slope) + " is not within 0 to " + number_text(kMaxSlope));
  line_ = {offset, slope};
}

void HeightModel::add(double feet, double height) {
  require_heights(std::isfinite(feet), "feet " + number_text(feet) + " is not finite");
  require_positive_height("height", height);
  samples_.emplace_back(feet, height);
  if (samples_.size() > settings_.max_samples) samples_.pop_front();
}

bool HeightModel::calibrate() {
  if (samples_.size() < settings_.min_samples) return false;
  const auto [least, greatest] = std::ranges::minmax_element(samples_, {}, &cv::Point2d::x);
  if (greatest->x - least->x < settings_.min_range) return false;

  const std::vector<cv::Point2d> samples(samples_.begin(), samples_.end());
  std::vector<cv::Point2d> best;
  for (std::size_t i = 0; i < samples.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const cv::Point2d a = samples[i], b = samples[j];
      if (std::abs(a.x - b.x) < settings_.min_pair_distance) continue;
      const double slope = (a.y - b.y) / (a.x - b.x);
      if (slope < 0 || slope > kMaxSlope) continue;
      const auto agrees = [&](const cv::Point2d& sample) {
        return is_inlier(sample, a.y + slope * (sample.x - a.x), settings_.tolerance);
      };
      if (static_cast<std::size_t>(std::ranges::count_if(samples, agrees)) <= best.size()) continue;
      best.clear();
      std::ranges::copy_if(samples, std::back_inserter(best), agrees);
    }
  if (best.size() < std::max(settings_.min_inliers, (samples.size() + 1) / 2)) return false;

  // Least squares, about the mean.
  cv::Point2d mean;
  for (const cv::Point2d& sample : best) mean += sample;
  mean /= static_cast<double>(best.size());
  double square = 0, product = 0;
  for (const cv::Point2d& sample : best) {
    square += (sample.x - mean.x) * (sample.x - mean.x);
    product += (sample.x - mean.x) * (sample.y - mean.y);
  }
  if (!(square > 0)) return false;
  const double slope = std::clamp(product / square, 0.0, kMaxSlope);
  line_ = {mean.y - slope * mean.x, slope};
  return true;
}

const HeightModel::Line& HeightModel::line() const {
  if (!line_)  // called often, so the message is built only on failure
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "height model: it is not calibrated; check is_ready() first");
  return *line_;
}

double HeightModel::height_at(double feet) const {
  return std::max(settings_.min_height, line().offset + line().slope * feet);
}

double HeightModel::feet_below(double top) const {
  return (top + line().offset) / (1 - line().slope);
}

}  // namespace vcap
