// SPDX-License-Identifier: Apache-2.0
#include "models/python_peers.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "support/paths.hpp"
#include "support/video.hpp"

namespace vcap::bench::models {
namespace {

std::string quoted(const std::string& word) { return "'" + word + "'"; }

/// The number that the interpreter prints with these arguments.
double number_of(const std::string& arguments) {
  const std::string command = quoted(std::getenv("VCAP_BENCH_PYTHON")) + " " + arguments;
  FILE* const output = popen(command.c_str(), "r");
  double number = 0;
  const bool is_read = output && std::fscanf(output, "%lf", &number) == 1;
  if (!output || pclose(output) != 0 || !is_read) throw std::runtime_error("cannot run " + command);
  return number;
}

}  // namespace

bool has_python() { return std::getenv("VCAP_BENCH_PYTHON") != nullptr; }

double by_benchmark_app(const Network& network) {
  std::string arguments =
      "-c 'from openvino.tools.benchmark.main import main; main()' -d CPU -hint throughput -t 3 "
      "-m " +
      quoted(network.file.native());
  if (!network.spec.input.sizes.empty()) {
    const cv::Size size = network.spec.input.sizes.front();
    arguments +=
        " -shape '[1,3," + std::to_string(size.height) + "," + std::to_string(size.width) + "]'";
  }
  return number_of(arguments + R"( 2>&1 | sed -n 's/.*Throughput: *\([0-9.]*\) FPS.*/\1/p')");
}

double by_python_way(const Network& network, long frames, int tile, double overlap) {
  return number_of(quoted(test::in_sources("tests/bench/models/python_way.py")) + " --clip " +
                   quoted(footage()) + " --model " + quoted(network.file.native()) + " --frames " +
                   std::to_string(frames) + " --tile " + std::to_string(tile) + " --overlap " +
                   std::to_string(overlap));
}

}  // namespace vcap::bench::models
