// SPDX-License-Identifier: Apache-2.0
#include "view/live_records.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace vcap {

std::optional<LiveRecords::duration> LiveRecords::shortest_interval(Looked& looked,
                                                                    time_point now) {
  std::erase_if(looked.looks, [&](const auto& entry) { return entry.second.until < now; });
  std::optional<duration> shortest;
  for (const auto& [width, look] : looked.looks)
    shortest = shortest ? std::min(*shortest, look.interval) : look.interval;
  return shortest;
}

void LiveRecords::look(const std::string& stream, int width, duration interval, time_point now) {
  const MutexLock lock(mutex_);
  for (auto one = looked_.begin(); one != looked_.end();)
    one = shortest_interval(one->second, now) ? std::next(one) : looked_.erase(one);
  Looked& looked = looked_[stream];
  Look& look = looked.looks[width];
  // Of several who look, the one who wants most counts until its time is over.
  const bool is_new = look.until < now;
  look.interval = is_new ? interval : std::min(look.interval, interval);
  look.until = now + kLook;
  until_.store(look.until.time_since_epoch().count());
}

void LiveRecords::put(const FrameRecord& record, time_point now) {
  if (now.time_since_epoch().count() > until_.load(std::memory_order_relaxed)) return;
  {
    const MutexLock lock(mutex_);
    const auto found = looked_.find(record.stream_id);
    if (found == looked_.end() || now < found->second.next) return;
    const std::optional<duration> interval = shortest_interval(found->second, now);
    if (!interval) return;
    found->second.next = now + *interval;
  }
  std::optional<FrameRecord> fresh = record;  // copied and released without the lock
  const MutexLock lock(mutex_);
  const auto found = looked_.find(record.stream_id);
  if (found == looked_.end()) return;
  std::swap(found->second.fresh, fresh);
  has_fresh_ = true;
  ready_.notify_one();
}

std::vector<LiveRecords::Taken> LiveRecords::take(time_point until) {
  const MutexLock lock(mutex_);
  while (!has_fresh_ && !woken_ && std::chrono::steady_clock::now() < until)
    ready_.wait_until(mutex_, until);
  woken_ = has_fresh_ = false;
  std::vector<Taken> taken;
  for (auto& [stream, looked] : looked_) {
    if (!looked.fresh) continue;
    Taken& one = taken.emplace_back(Taken{.record = std::move(*looked.fresh), .widths = {}});
    looked.fresh.reset();
    for (const auto& [width, look] : looked.looks) one.widths.insert(width);
  }
  return taken;
}

void LiveRecords::wake() {
  const MutexLock lock(mutex_);
  woken_ = true;
  ready_.notify_one();
}

}  // namespace vcap
