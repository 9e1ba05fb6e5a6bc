// SPDX-License-Identifier: Apache-2.0
#include "streams/jobs_by_ticket.hpp"

#include <iterator>
#include <utility>

#include "streams/frame_job.hpp"

namespace vcap {

JobsByTicket::JobsByTicket() = default;
JobsByTicket::~JobsByTicket() = default;

void JobsByTicket::add(std::unique_ptr<FrameJob> job) {
  auto place = jobs_.end();
  while (place != jobs_.begin() && (*std::prev(place))->ticket > job->ticket) --place;
  jobs_.insert(place, std::move(job));
}

bool JobsByTicket::begins_with(std::uint64_t ticket) const noexcept {
  return !jobs_.empty() && jobs_.front()->ticket == ticket;
}

std::unique_ptr<FrameJob> JobsByTicket::take_first() {
  std::unique_ptr<FrameJob> first = std::move(jobs_.front());
  jobs_.erase(jobs_.begin());
  return first;
}

std::vector<std::unique_ptr<FrameJob>> JobsByTicket::take_first(std::size_t count) {
  const auto end = jobs_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<std::unique_ptr<FrameJob>> first(std::make_move_iterator(jobs_.begin()),
                                               std::make_move_iterator(end));
  jobs_.erase(jobs_.begin(), end);
  return first;
}

}  // namespace vcap
