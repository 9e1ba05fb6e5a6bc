// SPDX-License-Identifier: Apache-2.0
#include "workers/watchdog.hpp"

#include <vector>

namespace vcap {
namespace {

thread_local bool in_expire = false;

}  // namespace

bool Watchdog::is_expiring() noexcept { return in_expire; }

Watchdog::~Watchdog() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Watchdog::start() {
  const MutexLock lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

Watchdog::Watch Watchdog::watch(Clock::duration limit, Overdue overdue, Clock::duration age) {
  const time_point now = clock_->now();
  const time_point deadline = limit < time_point::max() - now ? now + limit : time_point::max();
  const MutexLock lock(mutex_);
  const Watch::Key key{deadline, next_++};
  watches_.emplace(key, Watched{now - age, std::move(overdue)});
  if (deadline < wakes_at_) changed_.notify_all();
  return Watch(*this, key);
}

std::size_t Watchdog::expire(Clock::duration age) {
  const time_point now = clock_->now();
  std::vector<Watched> overdue;
  {
    const MutexLock lock(mutex_);
    for (auto at = watches_.begin(); at != watches_.end();) {
      if (now - at->second.since < age) {
        ++at;
        continue;
      }
      overdue.push_back(std::move(at->second));
      at = watches_.erase(at);
    }
  }
  std::size_t count = 0;
  in_expire = true;
  for (const Watched& one : overdue)
    if (one.overdue()) ++count;
  in_expire = false;
  return count;
}

void Watchdog::forget(const Watch::Key& key) noexcept {
  Overdue dropped;  // destroyed after the lock is released
  const MutexLock lock(mutex_);
  if (const auto found = watches_.find(key); found != watches_.end()) {
    dropped = std::move(found->second.overdue);
    watches_.erase(found);
  }
}

void Watchdog::run() {
  MutexLock lock(mutex_);
  while (!closed_) {
    if (watches_.empty()) {
      wakes_at_ = time_point::max();
      changed_.wait(mutex_);
      continue;
    }
    const auto first = watches_.begin();
    const time_point deadline = first->first.first;
    if (clock_->now() < deadline) {
      wakes_at_ = deadline;
      changed_.wait_until(*clock_, mutex_, deadline);
      continue;
    }
    const Overdue overdue = std::move(watches_.extract(first).mapped().overdue);
    lock.unlock();
    overdue();
    lock.lock();
  }
}

}  // namespace vcap
