// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>

namespace vcap::test {

/// A line of /proc/self/status in KiB, such as "VmHWM:".
inline long status_kib(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == field) {
      long kib = 0;
      status >> kib;
      return kib;
    }
  throw std::runtime_error("no " + field);
}

/// The process's peak memory since the construction, beyond its memory at that time. The peak of
/// getrusage() cannot begin again: after a larger one it would show nothing.
class PeakMemory {
 public:
  PeakMemory() { std::ofstream("/proc/self/clear_refs") << 5; }
  long kib() const { return status_kib("VmHWM:") - before_; }

 private:
  const long before_ = status_kib("VmRSS:");
};

}  // namespace vcap::test
