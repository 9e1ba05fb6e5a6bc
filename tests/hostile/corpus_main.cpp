// SPDX-License-Identifier: Apache-2.0
// Writes the corpus into a folder, one subfolder for each kind, as seeds for tests/fuzz.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "hostile/hostile_case.hpp"
#include "hostile/seeds.hpp"

int main(int argument_count, char** arguments) {
  if (argument_count != 2) {
    std::cerr << "usage: vcap_hostile_corpus FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder = arguments[1];
  std::size_t count = 0;
  for (const auto& [kind, seeds] : vcap::test::fuzz_seeds()) {
    std::filesystem::create_directories(folder / kind);
    for (const auto& [name, bytes] : seeds) {
      std::ofstream out(folder / kind / name, std::ios::binary);
      out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      if (!out.flush()) {
        std::cerr << "cannot write " << folder / kind / name << '\n';
        return 1;
      }
      ++count;
    }
  }
  std::cout << count << " seeds in " << folder << '\n';
}
