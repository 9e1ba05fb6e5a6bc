// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

namespace vcap::bench {

/// Runs each function in its own process. They take turns of half a second, while the others are
/// stopped, until all are done. Returns the seconds of the turns of each. So other load and changes
/// of the machine's speed affect all of them equally, although each may take minutes. Children of
/// those processes are stopped with them. The calling process must have no other threads. Throws if
/// one of them throws or cannot be started.
std::vector<double> seconds_in_turns(const std::vector<std::function<void()>>& runs);

}  // namespace vcap::bench
