// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include "vcap/capsule/capsule.hpp"

namespace vcap::soak {

/// Finds persons in every frame, in batches over all streams, and throws from time to time. If
/// `leaks`, it leaks 16 KiB per frame.
std::shared_ptr<Capsule> make_finder(int version, bool leaks);

/// Makes one call of a counter last `time`: the next call of any counter after `wanted` is set.
struct Hang {
  std::atomic<bool> wanted{false};
  std::chrono::milliseconds time{0};
};

/// Counts the frames of each stream, and saves the count. If `broken`, it always throws.
std::shared_ptr<Capsule> make_counter(int version, std::shared_ptr<Hang> hang, bool broken);

}  // namespace vcap::soak
