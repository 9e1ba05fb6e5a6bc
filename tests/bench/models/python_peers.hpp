// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/networks.hpp"

/// Python programs that run the same networks in their own processes. VCAP_BENCH_PYTHON names the
/// interpreter; python_way.py says how to install one. All throw std::runtime_error if the program
/// fails.
namespace vcap::bench::models {

/// Whether VCAP_BENCH_PYTHON names an interpreter.
bool has_python();

/// Images per second of OpenVINO's own benchmark_app: goal throughput, inputs filled once, outputs
/// not read.
double by_benchmark_app(const Network& network);

/// Frames per second of python_way.py on tiles of the footage.
double by_python_way(const Network& network, long frames, int tile, double overlap);

}  // namespace vcap::bench::models
