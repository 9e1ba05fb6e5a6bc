// SPDX-License-Identifier: Apache-2.0
#include "isolation/call_threads.hpp"

#include <system_error>
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
  Task task(std::move(call));
  std::future<WireMessage> answer = task.get_future();
  try {
    const MutexLock lock(mutex_);
    if (waiting_.size() >= idle_) threads_.emplace_back([this] { work(); });
    waiting_.push_back(std::move(task));
    changed_.notify_one();
  } catch (const std::system_error&) {
    task();  // the system gives no more threads
  }
  return answer;
}

void CallThreads::work() {
  MutexLock lock(mutex_);
  for (;;) {
    ++idle_;
    while (waiting_.empty() && !is_ending_) changed_.wait(mutex_);
    --idle_;
    if (waiting_.empty()) return;
    Task task = std::move(waiting_.front());
    waiting_.pop_front();
    const MutexUnlock unlock(mutex_);
    task();
    task = {};  // what it holds goes without the lock
  }
}

}  // namespace vcap
