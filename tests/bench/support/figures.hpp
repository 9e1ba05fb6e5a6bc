// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace vcap::bench {

enum class Better { lower, higher };

/// One line of the table: something measured several times and held against a target.
struct Figure {
  std::string id;    ///< such as "batching.1"; lines may share it
  std::string what;  ///< what the number is, with its unit or as a ratio to what
  double target;
  Better better = Better::lower;
  /// Takes one sample. Where it is a ratio, it runs the thing and its baseline one right after
  /// the other, so that what else the machine does falls on both.
  std::function<double()> sample;
  int samples = 9;
};

/// Measures the figures as Google Benchmark runs (its flags apply, such as
/// --benchmark_filter=batching.1), prints a table of medians and quartiles, and appends a JSON
/// object a line to the file that the environment variable VCAP_BENCH_JSON names, if it does.
/// Gives the program's exit code: 0 also where a target is missed, 1 where a sample threw.
int run_figures(int argc, char** argv, const std::vector<Figure>& figures);

/// How long `run` takes, in seconds.
template <class Run>
double seconds(Run run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// What `thing` gives as a multiple of what `baseline` gives. Which goes first changes from call to
/// call. With more rounds than one: the median of so many.
double ratio(const std::function<double()>& thing, const std::function<double()>& baseline,
             int rounds = 1);

}  // namespace vcap::bench
