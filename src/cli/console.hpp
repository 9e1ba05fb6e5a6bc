// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/thread_annotations.hpp"
#include "vcap/base/log.hpp"

namespace vcap::cli {

/// Standard error: messages as whole lines and, on a terminal, a progress line that stays below
/// them. Thread-safe.
class Console {
 public:
  /// The console of this process; a process has one standard error.
  static Console& shared();

  /// Sends vcap's log here, from warnings on.
  void take_log();
  /// Also gives each line of the log to `show`, from information on. For a process that has taken
  /// the log. [any thread, concurrent]
  void show_log(LogHook show);
  bool is_terminal() const noexcept { return is_terminal_; }

  /// Writes one line; line breaks within it become spaces, so that one message stays one line.
  void line(std::string_view text);
  /// Replaces the progress line; does nothing if this is not a terminal.
  void progress(std::string text);
  /// Removes the progress line.
  void end_progress();

 private:
  Console();

  const bool is_terminal_;
  Mutex mutex_;
  std::string progress_ VCAP_GUARDED_BY(mutex_);
  std::shared_ptr<const LogHook> show_log_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap::cli
