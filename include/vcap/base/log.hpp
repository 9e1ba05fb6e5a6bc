// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "vcap/base/export.hpp"

namespace vcap {

enum class LogLevel { debug, info, warning, error };

/// Takes one log line, without a newline. If the hook throws, vcap catches the exception and writes
/// its text and the line to standard error. Lines that the hook itself logs go to the default
/// writer. [any thread, concurrent]
using LogHook = std::function<void(LogLevel, std::string_view message)>;

/// Sends vcap's log to `hook`. An empty hook restores the default, which writes warnings and errors
/// to standard error. Thread-safe; lines in flight may still reach the old hook.
VCAP_EXPORT void set_log_hook(LogHook hook);

/// Writes a line to the hook. Capsules can use it too, so that their lines reach the host's log.
/// Never throws. Thread-safe.
VCAP_EXPORT void log(LogLevel level, std::string_view message) noexcept;

}  // namespace vcap
