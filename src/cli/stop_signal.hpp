// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace vcap::cli {

/// Turns the first Ctrl-C (SIGINT) or SIGTERM into a descriptor that becomes readable; a second
/// one ends the process at once, with exit code kKilled. One at a time in a process.
///
/// A signal that the process was started with as ignored, as shells do for background jobs, stays
/// ignored.
class StopSignal {
 public:
  /// Throws std::system_error where the system has no descriptor left.
  StopSignal();
  /// Gives the signals back what they did before.
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  int descriptor() const noexcept { return descriptor_; }
  bool raised() const noexcept;

 private:
  int descriptor_;
  struct sigaction before_int_ {};
  struct sigaction before_term_ {};
};

}  // namespace vcap::cli
