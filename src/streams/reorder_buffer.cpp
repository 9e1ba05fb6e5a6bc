// SPDX-License-Identifier: Apache-2.0
#include "streams/reorder_buffer.hpp"

#include <utility>

#include "streams/frame_job.hpp"

namespace vcap {

ReorderBuffer::ReorderBuffer() = default;
ReorderBuffer::~ReorderBuffer() = default;

void ReorderBuffer::add(std::unique_ptr<FrameJob> job) {
  const std::uint64_t ticket = job->ticket;
  completed_.emplace(ticket, std::move(job));
}

bool ReorderBuffer::is_next_there() const noexcept {
  return !completed_.empty() && completed_.begin()->first == next_;
}

std::unique_ptr<FrameJob> ReorderBuffer::begin_delivery() {
  if (!has_next()) return nullptr;
  ++next_;
  delivering_ = true;
  return std::move(completed_.extract(completed_.begin()).mapped());
}

}  // namespace vcap
