// SPDX-License-Identifier: Apache-2.0
#include "view/live_work.hpp"

#include <utility>

#include "pipeline/signals_blocked.hpp"

namespace vcap {

LiveWork::~LiveWork() {
  std::vector<std::jthread> threads;
  std::deque<std::function<void()>> dropped;
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    threads.swap(threads_);
    dropped.swap(waiting_);
    ready_.notify_all();
  }
}

bool LiveWork::add(std::function<void()> work) {
  const MutexLock lock(mutex_);
  if (waiting_.size() >= kWaiting) return false;
  waiting_.push_back(std::move(work));
  if (idle_ < waiting_.size() && threads_.size() < kThreads) {
    const SignalsBlocked blocked;
    threads_.emplace_back([this] { run(); });
  }
  ready_.notify_one();
  return true;
}

void LiveWork::run() {
  for (;;) {
    std::function<void()> work;
    {
      const MutexLock lock(mutex_);
      ++idle_;
      ready_.wait(mutex_, [this]() VCAP_REQUIRES(mutex_) { return ending_ || !waiting_.empty(); });
      --idle_;
      if (ending_) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    work();
  }
}

}  // namespace vcap
