// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace vcap::bench {

/// The quantile `q` (0 to 1) of the values, with linear interpolation. `values` must not be empty.
double quantile(std::vector<double> values, double q);

}  // namespace vcap::bench
