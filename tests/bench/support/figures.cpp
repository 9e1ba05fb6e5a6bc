// SPDX-License-Identifier: Apache-2.0
#include "support/figures.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "support/quantile.hpp"

namespace vcap::bench {
namespace {

constexpr const char* kCounter = "figure";

// The name of a figure in Google Benchmark. It is unique and begins with the id.
std::string name_of(const Figure& figure) { return figure.id + " " + figure.what; }

/// Collects the samples of each figure, and prints its line when all are there.
class Table final : public benchmark::BenchmarkReporter {
 public:
  explicit Table(const std::vector<Figure>& figures) {
    for (const Figure& figure : figures) figures_.emplace(name_of(figure), figure);
    if (const char* path = std::getenv("VCAP_BENCH_JSON")) json_.open(path, std::ios::app);
  }

  bool ReportContext(const Context&) override {
    std::printf("%-14s %-62s %10s %19s %9s  %s\n", "id", "what", "median", "quartiles", "target",
                "met");
    return true;
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    std::vector<double> samples;
    for (const Run& run : runs)
      if (run.run_type == Run::RT_Iteration && run.counters.contains(kCounter))
        samples.push_back(run.counters.at(kCounter));
    const auto figure = figures_.find(runs.front().run_name.function_name);
    if (!samples.empty() && figure != figures_.end()) print(figure->second, samples);
  }

 private:
  void print(const Figure& figure, const std::vector<double>& samples) {
    const double median = quantile(samples, 0.5);
    const double q1 = quantile(samples, 0.25), q3 = quantile(samples, 0.75);
    const bool lower = figure.better == Better::lower;
    const bool met = lower ? median <= figure.target : median >= figure.target;
    std::printf("%-14s %-62s %10.3g %9.3g …%8.3g %s%8.3g  %s\n", figure.id.c_str(),
                figure.what.c_str(), median, q1, q3, lower ? "≤" : "≥", figure.target,
                met ? "yes" : "NO");
    std::fflush(stdout);
    if (json_)
      json_ << nlohmann::json{{"id", figure.id},  {"what", figure.what},
                              {"median", median}, {"q1", q1},
                              {"q3", q3},         {"target", figure.target},
                              {"met", met},       {"better", lower ? "lower" : "higher"}}
            << std::endl;
  }

  std::map<std::string, Figure> figures_;
  std::ofstream json_;
};

// The samples that are taken of a figure.
int samples_of(const Figure& figure) {
  if (instant()) return 1;
  const char* const given = std::getenv("VCAP_BENCH_SAMPLES");
  return given != nullptr ? std::max(1, std::atoi(given)) : figure.samples;
}

}  // namespace

bool instant() { return std::getenv("VCAP_BENCH_INSTANT") != nullptr; }

int run_figures(int argc, char** argv, const std::vector<Figure>& figures) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  bool threw = false;
  for (const Figure& figure : figures)
    benchmark::RegisterBenchmark(
        name_of(figure).c_str(),
        [name = name_of(figure), sample = figure.sample, &threw](benchmark::State& state) {
          for (auto _ : state) {
            try {
              state.counters[kCounter] = sample();
            } catch (const std::exception& error) {
              std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
              threw = true;
              state.SkipWithError(error.what());
            }
          }
        })
        ->Iterations(1)
        ->Repetitions(samples_of(figure));
  Table table(figures);
  benchmark::RunSpecifiedBenchmarks(&table);
  benchmark::Shutdown();
  return threw ? 1 : 0;
}

double ratio(const std::function<double()>& thing, const std::function<double()>& baseline,
             int rounds) {
  static std::atomic<unsigned> calls{0};
  std::vector<double> ratios;
  for (int i = 0; i < workload(rounds, 1); ++i) {
    if (calls++ % 2 == 0) {
      const double first = thing();
      ratios.push_back(first / baseline());
    } else {
      const double first = baseline();
      ratios.push_back(thing() / first);
    }
  }
  return quantile(std::move(ratios), 0.5);
}

}  // namespace vcap::bench
