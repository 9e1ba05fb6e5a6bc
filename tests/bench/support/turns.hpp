// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

namespace vcap::bench {

/// Runs each in a process of its own, by turns of half a second with the others stopped, until all
/// are done; gives for how many seconds each had its turn. What else a machine does, and how fast
/// it is at the time, then falls on all of them alike, though each may take minutes. Children of
/// those processes are stopped with them. The calling process must have no other threads. Throws
/// where one of them throws or cannot be started.
std::vector<double> seconds_in_turns(const std::vector<std::function<void()>>& runs);

}  // namespace vcap::bench
