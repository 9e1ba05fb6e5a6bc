// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "support/figures.hpp"

/// The parts of models_bench. Each has its own source file and gives its lines of the table.
namespace vcap::bench::models {

/// 1: many callers and one caller, compared with OpenVINO by hand.
std::vector<Figure> throughput();
std::vector<Figure> latency();
/// 2 and 3: a detector in a pipeline, compared with its network alone and with Python; copied
/// pixels.
std::vector<Figure> pipelines();
/// 1 and 4: the memory of the two goals, and of two backends of a large model.
std::vector<Figure> memory();
/// 5: a start from the cache, and several models beside each other.
std::vector<Figure> warm_start();
std::vector<Figure> side_by_side();

/// With this argument, the program only measures its own memory. A second argument names the kind.
constexpr std::string_view kMemory = "--memory";
double memory_mib(std::string_view kind);

}  // namespace vcap::bench::models
