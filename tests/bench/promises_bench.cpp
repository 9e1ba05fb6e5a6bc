// SPDX-License-Identifier: Apache-2.0
// Measures what vcap promises about capsules that behave badly.
#include <vector>

#include "promises/parts.hpp"

int main(int argc, char** argv) {
  using namespace vcap::bench;
  std::vector<Figure> figures;
  for (const auto& part : {promises::neighbours()})
    figures.insert(figures.end(), part.begin(), part.end());
  return run_figures(argc, argv, figures);
}
