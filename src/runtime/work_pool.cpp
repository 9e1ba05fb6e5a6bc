// SPDX-License-Identifier: Apache-2.0
#include "runtime/work_pool.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "vcap/base/log.hpp"

namespace vcap {

Lane::~Lane() = default;

WorkPool::WorkPool(std::size_t limit) : limit_(std::max<std::size_t>(limit, 1)) {
  // The first thread is made here, where a system without threads can still be reported.
  const std::lock_guard lock(mutex_);
  threads_.emplace_back([this] { run(); });
  ++idle_;
}

WorkPool::~WorkPool() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkPool::post(std::shared_ptr<Lane> lane) {
  {
    const std::lock_guard lock(mutex_);
    Lane& ref = *lane;
    if (ref.waiting_++ == 0) ready_.push_back(std::move(lane));
    ++waiting_;
    if (idle_ < waiting_ && threads_.size() < limit_ && !closed_) {
      try {
        threads_.emplace_back([this] { run(); });
        ++idle_;
      } catch (const std::system_error& error) {
        // Those that run already do the work; asking again at each frame would help nobody.
        limit_ = threads_.size();
        log(LogLevel::warning, "frame workers: the system gives no more than " +
                                   std::to_string(limit_) + " threads (" + error.what() + ")");
      }
    }
  }
  wake_.notify_one();
}

void WorkPool::raise_limit(std::size_t limit) {
  const std::lock_guard lock(mutex_);
  limit_ = std::max(limit_, limit);
}

std::size_t WorkPool::limit() const {
  const std::lock_guard lock(mutex_);
  return limit_;
}

std::size_t WorkPool::threads() const {
  const std::lock_guard lock(mutex_);
  return threads_.size();
}

void WorkPool::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return closed_ || waiting_ > 0; });
    if (closed_) return;
    --idle_;
    std::shared_ptr<Lane> lane = std::move(ready_.front());
    ready_.pop_front();
    --waiting_;
    // To the back of the line with what it still has: every lane gets its turn.
    if (--lane->waiting_ > 0) ready_.push_back(lane);
    lock.unlock();
    lane->run_one();
    lane.reset();
    lock.lock();
    ++idle_;
  }
}

}  // namespace vcap
