// SPDX-License-Identifier: Apache-2.0
#include "batching/batch_recorder.hpp"

namespace vcap::detail {

BatchStatistics BatchRecorder::read() const {
  BatchStatistics result;
  if (!spread_) return result;
  const auto value = [this](Count what) {
    return counts_[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
  };
  // Read last, so that items that end during the read are counted as accepted too.
  result.answered = value(Count::answered);
  result.failed = value(Count::failed);
  result.dropped = value(Count::dropped);
  result.expired = value(Count::expired);
  result.cancelled = value(Count::cancelled);
  result.closed = value(Count::closed);
  result.rejected = rejected_.load(std::memory_order_relaxed);
  result.accepted = value(Count::accepted);
  const auto copy = [](const Buckets& from, Histogram& to) {
    for (std::size_t i = 0; i < from.size(); ++i)
      to.add_to_bucket(i, from[i].load(std::memory_order_relaxed));
  };
  copy(spread_->sizes, result.batch_sizes);
  copy(spread_->wait, result.wait_ns);
  copy(spread_->predict, result.predict_ns);
  return result;
}

}  // namespace vcap::detail
