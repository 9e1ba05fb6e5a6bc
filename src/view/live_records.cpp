// SPDX-License-Identifier: Apache-2.0
#include "view/live_records.hpp"

#include <utility>

namespace vcap {

std::optional<FrameRecord> LiveRecords::look(const std::string& stream, time_point now) {
  const MutexLock lock(mutex_);
  std::erase_if(looked_, [&](const auto& entry) { return entry.second.until < now; });
  Looked& looked = looked_[stream];
  looked.until = now + kLook;
  until_.store(looked.until.time_since_epoch().count());
  return looked.newest;
}

void LiveRecords::put(const FrameRecord& record, time_point now) {
  if (now.time_since_epoch().count() > until_.load(std::memory_order_relaxed)) return;
  {
    const MutexLock lock(mutex_);
    const auto found = looked_.find(record.stream_id);
    if (found == looked_.end() || found->second.until < now) return;
  }
  std::optional<FrameRecord> newest = record;  // copied and released without the lock
  const MutexLock lock(mutex_);
  const auto found = looked_.find(record.stream_id);
  if (found != looked_.end()) std::swap(found->second.newest, newest);
}

}  // namespace vcap
