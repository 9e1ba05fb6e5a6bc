// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "support/figures.hpp"

namespace vcap::bench {

/// view.5: sources that are added and removed beside streams that run.
std::vector<Figure> changes();

}  // namespace vcap::bench
