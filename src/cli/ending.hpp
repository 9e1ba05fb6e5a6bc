// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "vcap/base/clock.hpp"

namespace vcap::cli {

/// Decides what a command does next after it was asked to end, so that its end is bounded. A
/// passive machine: it has no clock and no thread. Thread safety: thread-compatible.
///
/// - asked for the first time: the work is stopped, and has the grace to end
/// - after the grace, or at a second signal: calls that have not returned are given up, again and
///   again, since a frame that goes on may reach another capsule that hangs
/// - at the latest after the grace once more: the process is left
class Ending {
 public:
  enum class Step {
    wait,     ///< nothing until wakes_at(), or until something was asked for
    stop,     ///< the work must end soon; comes once, first
    give_up,  ///< calls that have lasted for age() are given up
    leave     ///< the process ends without what has not returned
  };

  /// `grace`: at least 0.
  explicit Ending(Clock::duration grace) : grace_(grace) {}

  /// `signals`: how many have come. `foreign_exit`: other code has ended the process, such as
  /// exit() in a capsule; its call does not return. Call it until it gives `wait`.
  Step next(Clock::time_point now, int signals, bool foreign_exit);
  /// `nullopt` if nothing is asked for.
  std::optional<Clock::time_point> wakes_at() const;
  /// How long a call must have lasted to be given up.
  Clock::duration age() const noexcept;

 private:
  const Clock::duration grace_;
  bool stopped_ = false;
  bool hurried_ = false;
  bool foreign_exit_ = false;
  Clock::time_point give_up_at_{};
  Clock::time_point leave_at_{};
};

}  // namespace vcap::cli
