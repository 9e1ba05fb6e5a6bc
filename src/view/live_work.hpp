// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/thread_annotations.hpp"

namespace vcap {

/// A few threads for requests that take long, such as to load a capsule. They start when they are
/// first needed. Thread safety: thread-safe.
class LiveWork {
 public:
  static constexpr std::size_t kThreads = 4;
  static constexpr std::size_t kWaiting = 32;

  LiveWork() = default;
  /// Drops what has not begun, and waits for the rest.
  ~LiveWork();
  LiveWork(const LiveWork&) = delete;
  LiveWork& operator=(const LiveWork&) = delete;

  /// `work` must not throw. Returns false if too much waits.
  bool add(std::function<void()> work) VCAP_EXCLUDES(mutex_);

 private:
  void run() VCAP_EXCLUDES(mutex_);

  Mutex mutex_;
  CondVar ready_;
  bool ending_ VCAP_GUARDED_BY(mutex_) = false;
  std::size_t idle_ VCAP_GUARDED_BY(mutex_) = 0;
  std::deque<std::function<void()>> waiting_ VCAP_GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
