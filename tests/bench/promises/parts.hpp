// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "support/figures.hpp"

/// The parts of promises_bench. Each has its own source file and gives its lines of the table.
namespace vcap::bench::promises {

/// 1: a slow capsule beside a quick one.
std::vector<Figure> neighbours();

}  // namespace vcap::bench::promises
