// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <stdexcept>

namespace vcap::cli {

/// What the command's exit status means to a script.
enum ExitCode : int {
  kDone = 0,
  kFailed = 1,  ///< something failed while running
  kUsage = 2,   ///< an invalid command line, for any content of the files
  kInvalidCapsule = 3,
  kIncompatibleCapsule = 4,
  kNoDevice = 5,
  kSource = 6,
  kOutput = 7,
  kResource = 8,
  kHung = 9,          ///< something did not return in time at the end, and the process left it
  kForeignExit = 10,  ///< other code than the command's ended the process, such as a capsule's
  kCluster = 11,      ///< the broker of a cluster
  /// Ended by a third Ctrl-C without finishing its files: 128 + SIGINT, as in shells.
  kKilled = 130,
};

/// An invalid command line; the message says what to write instead.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The exit status for an exception thrown before the command's work began.
int exit_code_of(const std::exception& error) noexcept;

/// The exit status for the error that ended a stream: a source or an output has its own; any other
/// error means failed while running.
int exit_code_of_stream(const std::exception_ptr& cause) noexcept;

/// The table above, for --help.
extern const char* const kExitCodesHelp;

}  // namespace vcap::cli
