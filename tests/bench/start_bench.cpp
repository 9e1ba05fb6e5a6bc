// SPDX-License-Identifier: Apache-2.0
// Measures the time that vcap adds to a process before its first frame, and its headers to a
// compile.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/figures.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

namespace {

using vcap::bench::Figure;
using Words = std::vector<std::string>;

const Words kHost{vcap::test::built("tests/bench/start_bench_host"),
                  vcap::test::built("tests/bench/start_bench_capsule.cap")};
const Words kPeer{vcap::test::built("tests/bench/start_bench_peer"),
                  vcap::test::built("tests/bench/libstart_bench_peer_plugin.so")};
const Words kVersion{vcap::test::built("src/cli/vcap"), "--version"};
const Words kInspect{vcap::test::built("src/cli/vcap"), "inspect",
                     vcap::test::built("tests/bench/start_bench_capsule.cap")};
const Words kFfmpeg{"/usr/bin/ffmpeg", "-version"};

/// Seconds of a process from its start to its end, the mean of `runs`.
double seconds_of(const Words& words, int runs = 10) {
  return vcap::bench::seconds([&] {
           for (int i = 0; i < runs; ++i) vcap::bench::run_process(words);
         }) /
         runs;
}

double libraries() {
  const std::string command = "'" + kHost[0] + "' '" + kHost[1] + "' --libraries";
  std::FILE* const output = ::popen(command.c_str(), "r");
  double count = 0;
  const bool has_read = output != nullptr && std::fscanf(output, "%lf", &count) == 1;
  if (output == nullptr || ::pclose(output) != 0 || !has_read)
    throw std::runtime_error("cannot run " + command);
  return count;
}

Words compiling(const std::string& source) {
  return {VCAP_BENCH_COMPILER,
          "-std=c++20",
          "-O0",
          "-fsyntax-only",
          "-I" + vcap::test::in_sources("include"),
          "-isystem",
          VCAP_BENCH_OPENCV_INCLUDE,
          vcap::test::in_sources("tests/bench/start/") + source};
}

Figure ratio_of_times(std::string id, std::string what, double target, const Words& thing,
                      const Words& baseline, int runs = 10) {
  return {.id = std::move(id), .what = std::move(what), .target = target, .sample = [=] {
            return vcap::bench::ratio([&] { return seconds_of(thing, runs); },
                                      [&] { return seconds_of(baseline, runs); });
          }};
}

}  // namespace

int main(int argc, char** argv) {
  return vcap::bench::run_figures(
      argc, argv,
      {ratio_of_times("start.1", "vcap::core, a capsule, one frame: time of the same without vcap",
                      1.5, kHost, kPeer),
       {.id = "start.1",
        .what = "the same, libraries in the process",
        .target = 60,
        .sample = libraries,
        .samples = 1},
       ratio_of_times("start.2", "vcap --version, time of ffmpeg -version", 1.2, kVersion, kFfmpeg),
       ratio_of_times("start.2", "vcap inspect, time of vcap --version", 1.2, kInspect, kVersion),
       {.id = "start.3",
        .what = "the process of start.1, peak of resident memory, of the same without vcap",
        .target = 1.5,
        .sample =
            [] {
              return vcap::bench::ratio([] { return vcap::bench::run_process(kHost); },
                                        [] { return vcap::bench::run_process(kPeer); });
            }},
       ratio_of_times(
           "start.4",
           "compiling #include <vcap/vcap.hpp>, time of opencv2/core.hpp and json_fwd.hpp", 1.5,
           compiling("with_vcap.cpp"), compiling("with_opencv.cpp"), 1)});
}
