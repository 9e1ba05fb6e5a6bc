// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace vcap::bench {

/// A program that runs beside this one, with /dev/null as its input and outputs. The destructor
/// kills it and waits for its end.
class Process {
 public:
  /// The end of the program.
  struct End {
    int status = 0;       ///< as wait() returns it
    double peak_mib = 0;  ///< the peak of resident memory
  };

  /// `words`: the path of the program and its arguments. Throws std::system_error if it cannot
  /// start.
  explicit Process(const std::vector<std::string>& words);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const noexcept { return id_; }
  void kill() const;
  End wait();

 private:
  pid_t id_ = 0;
};

/// Runs a program to its end, and returns its peak memory in MiB. Throws std::runtime_error if it
/// fails.
double run_process(const std::vector<std::string>& words);

}  // namespace vcap::bench
