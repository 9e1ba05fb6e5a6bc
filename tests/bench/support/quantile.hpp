// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace vcap::bench {

/// The value that a share `q` of the values lies below, between two of them in proportion. Not of
/// none.
double quantile(std::vector<double> values, double q);

}  // namespace vcap::bench
