// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "support/figures.hpp"

/// The parts of streams_bench, each a source of its own that gives its lines of the table.
namespace vcap::bench::streams {

/// 1: `vcap run` and the best loop by hand.
std::vector<Figure> run_command();
/// 2: what a frame costs the processor, and a stream that does nothing the memory.
std::vector<Figure> frame_cost();
std::vector<Figure> idle_memory();
/// 3: how full batches get.
std::vector<Figure> batches();
/// 4: healthy streams beside others that are not.
std::vector<Figure> isolation();
/// 6: reading videos. (5 is the soak, tests/soak.)
std::vector<Figure> decoding();

/// The argument with which the program measures the memory of idle things, of which a second one
/// names the kind, and does nothing else.
constexpr std::string_view kIdleMemory = "--idle-memory";
double idle_memory_kib(std::string_view kind);

}  // namespace vcap::bench::streams
