// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vcap::bench {

/// The median time of a round trip between two threads, in seconds: two wake-ups. The threads share
/// one mutex and have one condition variable for each way.
double ping_pong(int trips);

}  // namespace vcap::bench
