// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "vcap/base/export.hpp"

namespace vcap {

enum class LogLevel { debug, info, warning, error };

/// Takes one line of log, without a newline. What it throws is written to standard error, with
/// the line, and goes no further; what it logs itself goes to the default. [any thread, concurrent]
using LogHook = std::function<void(LogLevel, std::string_view message)>;

/// Sends vcap's log to the host's own; an empty hook brings back the default, which writes
/// warnings and errors to standard error. Thread-safe; lines in flight may still reach the old
/// hook.
VCAP_EXPORT void set_log_hook(LogHook hook);

/// Writes a line to the hook. For capsules too, so that their lines reach the host's log.
/// Never throws. Thread-safe.
VCAP_EXPORT void log(LogLevel level, std::string_view message) noexcept;

}  // namespace vcap
