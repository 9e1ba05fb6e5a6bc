// SPDX-License-Identifier: Apache-2.0
// Measures the cost of a request, the formation of batches, and the behaviour under load.
#include <vector>

#include "batching/parts.hpp"

int main(int argc, char** argv) {
  using namespace vcap::bench;
  std::vector<Figure> figures;
  for (const auto& part :
       {batching::request_cost(), batching::batch_efficiency(), batching::waiting(),
        batching::delay_accuracy(), batching::fairness(), batching::failures(),
        batching::overload(), batching::closing(), batching::statistics(), batching::scale()})
    figures.insert(figures.end(), part.begin(), part.end());
  return run_figures(argc, argv, figures);
}
