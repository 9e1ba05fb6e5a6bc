// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <utility>

#include "base/thread_annotations.hpp"

namespace vcap {

/// Does work that must not hold up others, one piece after the other. Thread safety: thread-safe.
class BackgroundThread {
 public:
  BackgroundThread() : thread_([this] { work(); }) {}
  /// After the work that is there.
  ~BackgroundThread() {
    {
      const MutexLock lock(mutex_);
      ending_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

  /// `work` must not throw. [this thread]
  void post(std::function<void()> work) VCAP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    queue_.push_back(std::move(work));
    changed_.notify_all();
  }

 private:
  void work() VCAP_EXCLUDES(mutex_) {
    for (;;) {
      std::function<void()> next;
      {
        const MutexLock lock(mutex_);
        while (queue_.empty() && !ending_) changed_.wait(mutex_);
        if (queue_.empty()) return;
        next = std::move(queue_.front());
        queue_.pop_front();
      }
      next();
    }
  }

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> queue_ VCAP_GUARDED_BY(mutex_);
  bool ending_ VCAP_GUARDED_BY(mutex_) = false;
  std::thread thread_;  ///< the last one, since it uses the others
};

}  // namespace vcap
