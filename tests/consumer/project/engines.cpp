// SPDX-License-Identifier: Apache-2.0
// Loads every engine of an installed vcap by its name.
#include <iostream>
#include <vcap/backends/engine.hpp>

int main() {
  for (const std::string& name : vcap::installed_engines())
    std::cout << name << ' ' << vcap::find_engine(name)->devices().at(0) << '\n';
}
