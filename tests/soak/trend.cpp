// SPDX-License-Identifier: Apache-2.0
#include "trend.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace vcap::soak {
namespace {

constexpr std::size_t kFewestSpans = 10, kMostSpans = 120;
/// In this many samples, each of the twelve streams is replaced about twice. So the memory at the
/// end of a span depends little on the memory at its beginning.
constexpr std::size_t kSamplesOfSpan = 24;
constexpr double kTwoSided99 = 2.576;  // of the normal distribution

std::vector<Sample> medians_of_spans(const std::vector<Sample>& samples) {
  const std::size_t spans = std::clamp(samples.size() / kSamplesOfSpan, kFewestSpans, kMostSpans);
  std::vector<Sample> medians;
  for (std::size_t span = 0; span < spans; ++span) {
    std::vector<double> seconds, values;
    for (std::size_t i = span * samples.size() / spans; i < (span + 1) * samples.size() / spans;
         ++i) {
      seconds.push_back(samples[i].seconds);
      values.push_back(samples[i].value);
    }
    if (!values.empty()) medians.push_back({median(seconds), median(values)});
  }
  return medians;
}

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Trend trend_of(const std::vector<Sample>& samples) {
  const std::vector<Sample> spans = medians_of_spans(samples);
  std::vector<double> slopes;
  for (std::size_t i = 0; i < spans.size(); ++i)
    for (std::size_t j = i + 1; j < spans.size(); ++j)
      slopes.push_back((spans[j].value - spans[i].value) / (spans[j].seconds - spans[i].seconds));
  std::sort(slopes.begin(), slopes.end());
  const auto n = static_cast<double>(spans.size());
  const auto pairs = static_cast<double>(slopes.size());
  // This root is the standard deviation of Kendall's S if there is no trend.
  const double reach = kTwoSided99 * std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  const auto at = [&](double place) {
    return slopes[static_cast<std::size_t>(std::clamp(place, 0.0, pairs - 1))];
  };
  return {at(pairs / 2), at((pairs - reach) / 2), at((pairs + reach) / 2)};
}

}  // namespace vcap::soak
