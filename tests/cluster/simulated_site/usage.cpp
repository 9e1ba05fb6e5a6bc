// SPDX-License-Identifier: Apache-2.0
#include "cluster/simulated_site/usage.hpp"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace vcap::simulated {
namespace {

/// The number in a line such as "VmRSS:  1234 kB".
double number_in(const std::string& file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1));
  return 0;
}

}  // namespace

Usage& Usage::operator+=(const Usage& other) {
  cpu_seconds += other.cpu_seconds;
  memory_mib += other.memory_mib;
  written_mib += other.written_mib;
  threads += other.threads;
  return *this;
}

Usage usage_of(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  Usage usage{.memory_mib = number_in(folder + "/status", "VmRSS") / 1'024,
              .written_mib = number_in(folder + "/io", "write_bytes") / (1 << 20),
              .threads = number_in(folder + "/status", "Threads")};
  std::string text;
  std::getline(std::ifstream(folder + "/stat"), text);
  // After the name in parentheses: the state is the third field, the times are 14 and 15.
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  usage.cpu_seconds = (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return usage;
}

}  // namespace vcap::simulated
