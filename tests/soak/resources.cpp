// SPDX-License-Identifier: Apache-2.0
#include "resources.hpp"

#include <malloc.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>

namespace vcap::soak {
namespace {

/// The sum over lines such as "Pss_Anon: 1234 kB".
double sum_in(const char* file, std::initializer_list<std::string> names) {
  double sum = 0;
  std::size_t found = 0;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    for (const std::string& name : names) {
      if (!line.starts_with(name + ":")) continue;
      sum += std::stod(line.substr(name.size() + 1));
      ++found;
    }
  if (found != names.size())
    throw std::runtime_error(std::string(file) + " does not tell what is needed of it");
  return sum;
}

double entries_of(const char* folder) {
  using std::filesystem::directory_iterator;
  return static_cast<double>(std::distance(directory_iterator(folder), directory_iterator()));
}

}  // namespace

void settle_allocator() { mallopt(M_ARENA_MAX, 4); }

Resources measure_resources() {
  malloc_trim(0);
  return {.memory_kib = sum_in("/proc/self/smaps_rollup", {"Pss_Anon", "Pss_Shmem", "Swap"}),
          .descriptors = entries_of("/proc/self/fd"),
          .threads = entries_of("/proc/self/task")};
}

}  // namespace vcap::soak
