// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <stdexcept>

namespace vcap::cli {

/// What the command's exit status means to a script.
enum ExitCode : int {
  kDone = 0,
  kFailed = 1,  ///< something failed while running
  kUsage = 2,   ///< the command line asks for what cannot be, whatever the files hold
  kInvalidCapsule = 3,
  kIncompatibleCapsule = 4,
  kNoDevice = 5,
  kSource = 6,
  kOutput = 7,
  kResource = 8,
  /// Ended by a second Ctrl-C without finishing its files: 128 + SIGINT, as shells have it.
  kKilled = 130,
};

/// A command line that cannot be carried out; the message says what to write instead.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The exit status for what a command threw before its work began.
int exit_code_of(const std::exception& error) noexcept;

/// The exit status for what ended a stream: a source or an output has its own, all else failed
/// while running.
int exit_code_of_stream(const std::exception_ptr& cause) noexcept;

/// The table above, for --help.
extern const char* const kExitCodesHelp;

}  // namespace vcap::cli
