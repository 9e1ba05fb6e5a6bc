// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <thread>
#include <vector>

#include "support/figures.hpp"

/// The parts of operations_bench. Each has its own source file and gives its lines of the table.
namespace vcap::bench::operations {

inline unsigned cores() { return std::max(1u, std::thread::hardware_concurrency()); }

/// 1: a stored video on all cores, and the cost of a window.
std::vector<Figure> slices();
std::vector<Figure> windows();
/// 2: a few frames out of a whole video.
std::vector<Figure> gathering();
/// 3 and 4: a job of many clips, and one that is killed many times.
std::vector<Figure> jobs();

}  // namespace vcap::bench::operations
