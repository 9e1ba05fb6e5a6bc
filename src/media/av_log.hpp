// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vcap/base/export.hpp"

namespace vcap {

/// From the first call on, what libav says of itself goes to vcap's log, at level debug, and no
/// more to standard error: what matters of it is in vcap's own errors and warnings. Passwords in
/// URLs are left out. libav has one such setting for the whole process; whoever sets another one
/// later, by av_log_set_callback, has it. Thread-safe.
VCAP_EXPORT void take_av_log();

}  // namespace vcap
