// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "support/figures.hpp"

/// The parts of operations_bench, each a source of its own that gives its lines of the table.
namespace vcap::bench::operations {

/// 2: a few frames out of a whole video.
std::vector<Figure> gathering();

}  // namespace vcap::bench::operations
