// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vcap::bench {

/// Kills the worker of a camera with SIGKILL. Returns how many seconds later another one has
/// claimed it, less the lease.
double takeover_beyond_lease();

}  // namespace vcap::bench
