// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace vcap::simulated {

/// What a process has used so far, as /proc has it. Thread safety: value.
struct Usage {
  double cpu_seconds = 0;
  double memory_mib = 0;   ///< resident now
  double written_mib = 0;  ///< to disks
  double threads = 0;      ///< now

  Usage& operator+=(const Usage& other);
};

/// Zeros for a process that does not exist.
Usage usage_of(pid_t process);

}  // namespace vcap::simulated
