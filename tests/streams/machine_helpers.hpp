// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "streams/frame_job.hpp"
#include "workers/in_flight_limiter.hpp"

namespace vcap::test {

/// A frame that has begun; without a route, it has no steps.
inline std::unique_ptr<FrameJob> job_of(std::uint64_t ticket,
                                        std::shared_ptr<const Route> route = nullptr) {
  auto job = std::make_unique<FrameJob>();
  job->ticket = ticket;
  job->record.frame.index = static_cast<std::int64_t>(ticket);
  job->route = std::move(route);
  return job;
}

inline std::vector<std::uint64_t> tickets_of(const ReadyJobs& jobs) {
  std::vector<std::uint64_t> tickets;
  for (const std::unique_ptr<FrameJob>& job : jobs) tickets.push_back(job->ticket);
  return tickets;
}

/// How many slots are free.
inline std::size_t free_slots(InFlightLimiter& limiter) {
  std::size_t free = 0;
  while (limiter.try_take()) ++free;
  if (free > 0) limiter.give_back(free);
  return free;
}

}  // namespace vcap::test
