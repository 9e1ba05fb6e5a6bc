// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vcap {

/// Redirects libav's log to vcap's log, at level debug, from the first call on. libav then no
/// longer writes to standard error; vcap's own errors and warnings have the important facts.
/// Passwords in URLs are left out. libav has one log callback for the whole process; a later
/// av_log_set_callback replaces this one. Thread-safe.
void take_av_log();

}  // namespace vcap
