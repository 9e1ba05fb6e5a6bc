// SPDX-License-Identifier: Apache-2.0
#include "streams/stateful_gate.hpp"

#include <utility>

#include "streams/frame_job.hpp"

namespace vcap {

void StatefulGate::open(std::uint64_t first_ticket) noexcept {
  if (!next_) next_ = first_ticket;
}

std::unique_ptr<FrameJob> StatefulGate::enter(std::unique_ptr<FrameJob> job) {
  if (is_turn_of(job->ticket)) return job;
  parked_.add(std::move(job));
  return nullptr;
}

std::unique_ptr<FrameJob> StatefulGate::leave() {
  ++*next_;
  return parked_.begins_with(*next_) ? parked_.take_first() : nullptr;
}

}  // namespace vcap
