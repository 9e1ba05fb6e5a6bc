// SPDX-License-Identifier: Apache-2.0
// The cost of running networks with vcap, beyond that of their engine.
#include <cstdio>
#include <string_view>
#include <vector>

#ifdef VCAP_BENCH_OPENVINO
#include "models/networks.hpp"
#include "models/parts.hpp"
#include "models/python_peers.hpp"

int main(int argc, char** argv) {
  using namespace vcap::bench;
  if (const auto what = models::missing()) {
    std::printf("models: skipped, since %s\n", what->c_str());
    return 0;
  }
  // Memory is measured in a process that has done nothing before.
  if (argc == 3 && std::string_view(argv[1]) == models::kMemory) {
    std::printf("%.3f\n", models::memory_mib(argv[2]));
    return 0;
  }
  if (!models::has_python())
    std::fputs(
        "models: not compared with benchmark_app and Python's vcap, since VCAP_BENCH_PYTHON names "
        "no interpreter; see tests/bench/models/python_way.py\n",
        stderr);
  std::vector<Figure> figures;
  for (const auto& part : {models::throughput(), models::latency(), models::pipelines(),
                           models::memory(), models::warm_start(), models::side_by_side()})
    figures.insert(figures.end(), part.begin(), part.end());
  return run_figures(argc, argv, figures);
}
#else
int main() {
  std::puts(
      "models: skipped, since this was built without OpenVINO; run cmake/fetch_wheel.sh openvino "
      "and build again");
  return 0;
}
#endif
