// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace vcap::bench {

/// How much later than `time` a std::condition_variable::wait_until without a notification returns,
/// in seconds. No timed wait on this machine is less late.
double bare_timer(std::chrono::steady_clock::time_point time);

}  // namespace vcap::bench
