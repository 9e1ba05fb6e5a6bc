// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace vcap::cli {

/// Turns the first Ctrl-C (SIGINT) or SIGTERM into a descriptor that becomes readable. A second one
/// ends the process at once, with exit code kKilled. A process may have one at a time.
///
/// A signal that was ignored when the process started, as shells do for background jobs, stays
/// ignored.
class StopSignal {
 public:
  /// Throws std::system_error if the system has no descriptor left.
  StopSignal();
  /// Restores the signals' earlier actions.
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
