// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vcap::bench {

/// The median time there and back between two threads, over one mutex and one condition variable
/// each way, in seconds: two wake-ups.
double ping_pong(int trips);

}  // namespace vcap::bench
