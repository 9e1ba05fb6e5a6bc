// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace vcap::soak {

/// The trend of a value that was measured many times; single outliers do not change it. Thread
/// safety: value.
struct Trend {
  double slope = 0;          ///< per second, by Theil and Sen: the median over all pairs of samples
  double low = 0, high = 0;  ///< the 99 % confidence interval of the slope (Sen 1968)
};

struct Sample {
  double seconds;
  double value;
};

/// The trend of the medians of 10 to 120 spans of time, since close samples depend on each other
/// and all pairs of many samples are too many. Requires at least ten samples.
Trend trend_of(const std::vector<Sample>& samples);

double median(std::vector<double> values);

}  // namespace vcap::soak
