// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "support/figures.hpp"

/// The parts of streams_bench. Each has its own source file and gives its lines of the table.
namespace vcap::bench::streams {

/// 1: `vcap run` and the best loop by hand.
std::vector<Figure> run_command();
/// 2: the processor time of a frame, and the memory of an idle stream.
std::vector<Figure> frame_cost();
std::vector<Figure> idle_memory();
/// 3: the fill of batches.
std::vector<Figure> batches();
/// 4: healthy streams beside failing ones.
std::vector<Figure> isolation();
/// 6: reading videos. (5 is the soak, tests/soak.)
std::vector<Figure> decoding();
/// 7: writing clips.
std::vector<Figure> encoding();

/// With this argument, the program only measures the memory of idle streams or threads. A second
/// argument names the kind.
constexpr std::string_view kIdleMemory = "--idle-memory";
double idle_memory_kib(std::string_view kind);

}  // namespace vcap::bench::streams
