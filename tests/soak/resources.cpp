// SPDX-License-Identifier: Apache-2.0
#include "resources.hpp"

#include <malloc.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace vcap::soak {
namespace {

/// A line such as "Rss: 1234 kB".
double number_in(const char* file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1));
  throw std::runtime_error(std::string(file) + " does not tell " + name);
}

double entries_of(const char* folder) {
  using std::filesystem::directory_iterator;
  return static_cast<double>(std::distance(directory_iterator(folder), directory_iterator()));
}

}  // namespace

void settle_allocator() { mallopt(M_ARENA_MAX, 4); }

Resources measure_resources() {
  malloc_trim(0);
  return {.resident_kib = number_in("/proc/self/smaps_rollup", "Rss"),
          .descriptors = entries_of("/proc/self/fd"),
          .threads = entries_of("/proc/self/task")};
}

}  // namespace vcap::soak
