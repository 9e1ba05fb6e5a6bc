// SPDX-License-Identifier: Apache-2.0
#include "isolation/call_threads.hpp"

#include <utility>

namespace vcap {

CallThreads::~CallThreads() {
  std::vector<std::thread> threads;
  {
    const MutexLock lock(mutex_);
    is_ending_ = true;
    threads.swap(threads_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

std::future<WireMessage> CallThreads::begin(Call call) {
  std::packaged_task<WireMessage()> task(std::move(call));
  std::future<WireMessage> answer = task.get_future();
  const MutexLock lock(mutex_);
  // First, because it may fail.
  if (waiting_.size() >= idle_) threads_.emplace_back([this] { work(); });
  waiting_.push_back(std::move(task));
  changed_.notify_one();
  return answer;
}

void CallThreads::work() {
  MutexLock lock(mutex_);
  for (;;) {
    ++idle_;
    while (waiting_.empty() && !is_ending_) changed_.wait(mutex_);
    --idle_;
    if (waiting_.empty()) return;
    std::packaged_task<WireMessage()> task = std::move(waiting_.front());
    waiting_.pop_front();
    const MutexUnlock unlock(mutex_);
    task();
  }
}

}  // namespace vcap
