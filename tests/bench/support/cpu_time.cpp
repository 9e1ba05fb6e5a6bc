// SPDX-License-Identifier: Apache-2.0
#include "support/cpu_time.hpp"

#include <sys/resource.h>

namespace vcap::bench {

double cpu_time() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace vcap::bench
