// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include "vcap/capsule/capsule.hpp"

namespace vcap::soak {

/// Finds persons in every frame, in batches over all streams, and throws now and then. Where it
/// `leaks`, 16 KiB each frame.
std::shared_ptr<Capsule> make_finder(int version, bool leaks);

/// What makes a counter take so long over one frame: the next one that is given to any.
struct Hang {
  std::atomic<bool> wanted{false};
  std::chrono::milliseconds time{0};
};

/// Counts the frames of each stream, and saves how many. Where it is `broken`, it throws always.
std::shared_ptr<Capsule> make_counter(int version, std::shared_ptr<Hang> hang, bool broken);

}  // namespace vcap::soak
