// SPDX-License-Identifier: Apache-2.0
#include "streams/call_places.hpp"

namespace vcap {

CallLine::~CallLine() = default;

bool CallPlaces::try_take_idle() noexcept {
  std::int64_t free = free_.load(std::memory_order_relaxed);
  while (free > 0)
    if (free_.compare_exchange_weak(free, free - 1, std::memory_order_acq_rel)) return true;
  return false;
}

bool CallPlaces::wait(std::shared_ptr<CallLine> line) {
  if (ahead_ > 0) {
    --ahead_;
    return true;
  }
  CallLine& ref = *line;
  if (ref.waiting_ == 0) lines_.push_back(std::move(line));
  ++ref.waiting_;
  ++waiting_;
  return false;
}

std::shared_ptr<CallLine> CallPlaces::hand_over() {
  if (lines_.empty()) {
    ++ahead_;
    return nullptr;
  }
  std::shared_ptr<CallLine> line = std::move(lines_.front());
  lines_.pop_front();
  --waiting_;
  // The line goes to the back with the rest of what it has.
  if (--line->waiting_ > 0) lines_.push_back(line);
  return line;
}

std::size_t CallPlaces::raise(std::size_t places) noexcept {
  if (!is_bounded() || places <= places_) return 0;
  return places - std::exchange(places_, places);
}

void SharedCallPlaces::raise(std::size_t places) {
  if (!is_bounded_) return;
  std::size_t more = 0;
  {
    const MutexLock lock(mutex_);
    more = places_.raise(places);
  }
  for (; more > 0; --more) leave();
}

void SharedCallPlaces::hand_over() {
  std::shared_ptr<CallLine> line;
  {
    const MutexLock lock(mutex_, kAdaptive);
    line = places_.hand_over();
  }
  if (line) line->go_on();
}

}  // namespace vcap
