// SPDX-License-Identifier: Apache-2.0
#include "streams/frame_batches.hpp"

#include <utility>

#include "streams/frame_job.hpp"

namespace vcap {

FrameBatches::FrameBatches(const BatchSizes& sizes, std::size_t most_calls)
    : sizes_(sizes), most_calls_(most_calls) {}

void FrameBatches::add(std::unique_ptr<FrameJob> job) { waiting_.add(std::move(job)); }

bool FrameBatches::begin_call() noexcept {
  if (waiting_.empty() || calls_ == most_calls_) return false;
  // The calls that have not taken their frames yet will take as many as they can.
  if ((waiting_.size() - 1) / sizes_.maximum < untaken_) return false;
  ++calls_;
  ++untaken_;
  return true;
}

FrameBatches::Batch FrameBatches::take(const RouteOf& route_of) {
  --untaken_;
  if (waiting_.empty()) return {};
  const std::shared_ptr<const Route> route = route_of(**waiting_.begin());
  std::size_t count = 0;
  for (auto one = waiting_.begin();
       one != waiting_.end() && count < sizes_.maximum && route_of(**one) == route; ++one)
    ++count;
  if (sizes_.preferred > 0 && count > sizes_.preferred && count < sizes_.maximum)
    count -= count % sizes_.preferred;
  return waiting_.take_first(count);
}

bool FrameBatches::end_call() noexcept {
  --calls_;
  return !waiting_.empty();
}

}  // namespace vcap
