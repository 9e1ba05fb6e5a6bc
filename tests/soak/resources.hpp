// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vcap::soak {

/// What the process holds. Thread safety: value.
struct Resources {
  double resident_kib = 0;
  double descriptors = 0;
  double threads = 0;
};

/// Makes resident memory comparable: few arenas, which keep what their threads once needed.
void settle_allocator();
/// Memory that the allocator keeps for later is given back before it is measured.
Resources measure_resources();

}  // namespace vcap::soak
