// SPDX-License-Identifier: Apache-2.0
// The costs and the savings of operations over time.
#include <vector>

#include "operations/parts.hpp"

int main(int argc, char** argv) {
  using namespace vcap::bench;
  std::vector<Figure> figures;
  for (const auto& part :
       {operations::slices(), operations::windows(), operations::gathering(), operations::jobs()})
    figures.insert(figures.end(), part.begin(), part.end());
  return run_figures(argc, argv, figures);
}
