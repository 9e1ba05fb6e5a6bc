// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace vcap::bench {

enum class Better { lower, higher };

/// One line of the table: a value that is measured several times and compared with a target.
struct Figure {
  std::string id;    ///< such as "batching.1"; lines may share it
  std::string what;  ///< the meaning of the number, with its unit or its baseline
  double target;
  Better better = Better::lower;
  /// Takes one sample. For a ratio, it runs the thing and its baseline directly one after the
  /// other, so that other load of the machine affects both.
  std::function<double()> sample;
  int samples = 9;
};

/// Measures the figures with Google Benchmark; its flags apply, such as
/// --benchmark_filter=batching.1. Prints a table of medians and quartiles. If the environment
/// variable VCAP_BENCH_JSON names a file, appends one JSON object per line to it.
/// VCAP_BENCH_SAMPLES sets another number of samples for all figures. Returns the program's exit
/// code: 1 if a sample threw, 2 for an unknown argument, else 0, also if a target is missed.
int run_figures(int argc, char** argv, const std::vector<Figure>& figures);

/// Whether the environment variable VCAP_BENCH_INSTANT is set: each figure takes one sample with a
/// small workload. Shows that the benchmarks run; the figures mean nothing.
bool instant();

/// The size of a workload: `full`, or `small` if it is to take only an instant.
template <class Size>
Size workload(Size full, Size small) {
  return instant() ? small : full;
}

/// The time that `run` takes, in seconds.
template <class Run>
double seconds(Run run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The value of `thing` divided by that of `baseline`. They take turns in going first. With several
/// rounds, the result is the median of their ratios; there is one round if instant().
double ratio(const std::function<double()>& thing, const std::function<double()>& baseline,
             int rounds = 1);

}  // namespace vcap::bench
