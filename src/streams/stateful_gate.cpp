// SPDX-License-Identifier: Apache-2.0
#include "streams/stateful_gate.hpp"

#include <utility>

#include "streams/frame_job.hpp"

namespace vcap {

StatefulGate::StatefulGate() = default;
StatefulGate::~StatefulGate() = default;

void StatefulGate::open(std::uint64_t first_ticket) noexcept {
  if (!next_) next_ = first_ticket;
}

std::unique_ptr<FrameJob> StatefulGate::enter(std::unique_ptr<FrameJob> job) {
  const std::uint64_t ticket = job->ticket;
  if (is_turn_of(ticket)) return job;
  parked_.emplace(ticket, std::move(job));
  return nullptr;
}

std::unique_ptr<FrameJob> StatefulGate::leave() {
  ++*next_;
  if (parked_.empty() || parked_.begin()->first != next_) return nullptr;
  return std::move(parked_.extract(parked_.begin()).mapped());
}

}  // namespace vcap
