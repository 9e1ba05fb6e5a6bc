// SPDX-License-Identifier: Apache-2.0
#include "streams/reorder_buffer.hpp"

#include <utility>

#include "streams/frame_job.hpp"

namespace vcap {

void ReorderBuffer::add(std::unique_ptr<FrameJob> job) { completed_.add(std::move(job)); }

std::unique_ptr<FrameJob> ReorderBuffer::begin_delivery() {
  if (!has_next()) return nullptr;
  ++next_;
  delivering_ = true;
  return completed_.take_first();
}

}  // namespace vcap
