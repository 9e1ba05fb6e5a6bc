// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vcap::soak {

/// What the process holds. Thread safety: value.
struct Resources {
  /// Anonymous and shared memory, resident or swapped out. Not the pages of files, libraries among
  /// them, which the system takes away and brings back as it likes.
  double memory_kib = 0;
  double descriptors = 0;
  double threads = 0;
};

/// Makes memory comparable: few arenas, since each keeps what its threads once needed.
void settle_allocator();
/// Memory that the allocator keeps for later is given back before it is measured.
Resources measure_resources();

}  // namespace vcap::soak
