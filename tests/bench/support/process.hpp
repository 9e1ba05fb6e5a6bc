// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace vcap::bench {

/// A program that runs beside this one, with nothing on its inputs and outputs. Killed and waited
/// for at the end.
class Process {
 public:
  /// What became of it.
  struct End {
    int status = 0;       ///< as wait() gives it
    double peak_mib = 0;  ///< the most memory that was resident
  };

  /// `words`: the program's path, and its arguments. Throws std::system_error.
  explicit Process(const std::vector<std::string>& words);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void kill() const;
  End wait();

 private:
  pid_t id_ = 0;
};

/// Runs a program to its end, and gives its peak memory in MiB. Throws std::runtime_error where it
/// fails.
double run_process(const std::vector<std::string>& words);

}  // namespace vcap::bench
