// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace vcap::bench {

/// How much later than `time` a std::condition_variable::wait_until that nobody notifies returns,
/// in seconds: the least that a wait with an end is late by on this machine.
double bare_timer(std::chrono::steady_clock::time_point time);

}  // namespace vcap::bench
