// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "support/figures.hpp"

/// The parts of models_bench, each a source of its own that gives its lines of the table.
namespace vcap::bench::models {

/// 1: many callers, and one, to OpenVINO by hand.
std::vector<Figure> throughput();
std::vector<Figure> latency();
/// 2 and 3: a detector in a pipeline, to its network alone and to Python; pixels that it copies.
std::vector<Figure> pipelines();
/// 1 and 4: what the two goals, and two backends of a large model, take of memory.
std::vector<Figure> memory();
/// 5: starting from the cache, and several models beside each other.
std::vector<Figure> warm_start();
std::vector<Figure> side_by_side();

/// The argument with which the program measures its own memory and does nothing else. A second one
/// names the kind.
constexpr std::string_view kMemory = "--memory";
double memory_mib(std::string_view kind);

}  // namespace vcap::bench::models
