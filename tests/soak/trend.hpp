// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace vcap::soak {

/// Something that was measured again and again: how it goes up or down, come what may in single
/// samples. Thread safety: value.
struct Trend {
  double slope = 0;          ///< a second, by Theil and Sen: the median over all pairs of samples
  double low = 0, high = 0;  ///< what it lies within with a confidence of 99 % (Sen 1968)
};

struct Sample {
  double seconds;
  double value;
};

/// Samples close to one another depend on one another, and all pairs of many are too many: the
/// trend is that of the medians of 10 to 120 spans of time. At least ten samples.
Trend trend_of(const std::vector<Sample>& samples);

double median(std::vector<double> values);

}  // namespace vcap::soak
