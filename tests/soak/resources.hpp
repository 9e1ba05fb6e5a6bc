// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vcap::soak {

/// The resources that the process holds. Thread safety: value.
struct Resources {
  /// Anonymous and shared memory, resident or swapped out. Pages of files, such as libraries, do
  /// not count, since the system drops and reloads them at any time.
  double memory_kib = 0;
  double descriptors = 0;
  double threads = 0;
};

/// Limits the number of arenas, since each arena keeps memory that its threads needed earlier. So
/// samples of memory can be compared.
void settle_allocator();
/// Measures the resources. Before that, the allocator returns the free memory that it keeps.
Resources measure_resources();

}  // namespace vcap::soak
