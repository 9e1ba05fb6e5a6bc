// SPDX-License-Identifier: Apache-2.0
// Measures the cost of a pipeline, the isolation of its streams, and the speed of reading and
// writing videos.
#include <cstdio>
#include <string_view>
#include <vector>

#include "streams/parts.hpp"

int main(int argc, char** argv) {
  using namespace vcap::bench;
  // Memory is measured in a process that has done nothing before.
  if (argc == 3 && std::string_view(argv[1]) == streams::kIdleMemory) {
    std::printf("%.3f\n", streams::idle_memory_kib(argv[2]));
    return 0;
  }
  std::vector<Figure> figures;
  for (const auto& part :
       {streams::run_command(), streams::frame_cost(), streams::idle_memory(), streams::batches(),
        streams::isolation(), streams::decoding(), streams::encoding()})
    figures.insert(figures.end(), part.begin(), part.end());
  return run_figures(argc, argv, figures);
}
