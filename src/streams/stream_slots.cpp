// SPDX-License-Identifier: Apache-2.0
#include "streams/stream_slots.hpp"

#include <utility>

namespace vcap {

bool StreamSlots::take(std::size_t in_flight) {
  if (slots_ + look_ahead_ >= in_flight) return true;
  if (!limiter_.try_take()) return false;
  ++slots_;
  return true;
}

void StreamSlots::settle(std::size_t frames) {
  const std::size_t free = look_ahead_ + 1;
  const std::size_t kept = frames > free ? frames - free : 0;
  if (slots_ > kept) limiter_.give_back(std::exchange(slots_, kept) - kept);
  if (frames < free) limiter_.release(waiter_);
}

}  // namespace vcap
