// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "support/figures.hpp"

namespace vcap::bench {

/// view.1 and 2: what streams pay for a live view and its viewers.
std::vector<Figure> looking();

}  // namespace vcap::bench
