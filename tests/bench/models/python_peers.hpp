// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/networks.hpp"

/// Programs in Python that run the same networks, in processes of their own. VCAP_BENCH_PYTHON
/// names the interpreter; python_way.py says how to make one. All throw std::runtime_error if the
/// program fails.
namespace vcap::bench::models {

/// Whether there is an interpreter.
bool has_python();

/// Images a second of OpenVINO's own benchmark_app: goal throughput, inputs filled once, outputs
/// that nobody reads.
double by_benchmark_app(const Network& network);

/// Frames a second of python_way.py on tiles of the footage.
double by_python_way(const Network& network, long frames, int tile, double overlap);

}  // namespace vcap::bench::models
