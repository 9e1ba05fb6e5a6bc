// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "vcap/base/clock.hpp"

namespace vcap::cli {

/// Leaves the process with kHung if something does not return in time. It goes on after its
/// destructor, until the process has ended, since destructors of static objects may hang, too.
/// Thread safety: thread-compatible.
class ClosingBound {
 public:
  /// `limit`: for each step; at least a second. Without a thread from the system, there is no
  /// bound.
  explicit ClosingBound(Clock::duration limit);
  ClosingBound(const ClosingBound&) = delete;
  ClosingBound& operator=(const ClosingBound&) = delete;

  /// The next step begins: `what`, such as "closing capsule people". The first one starts the
  /// bound.
  void begin(std::string what);

 private:
  struct State;
  /// Shared with the thread.
  std::shared_ptr<State> state_;
};

}  // namespace vcap::cli
