// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <thread>
#include <vector>

#include "base/thread_annotations.hpp"
#include "isolation/wire.hpp"

namespace vcap {

/// Threads for calls of a capsule's code: each call in progress has one, so that none waits for
/// another, and a thread that has ended its call takes the next one. Thread-safe.
class CallThreads {
 public:
  using Call = std::function<WireMessage()>;

  CallThreads() = default;
  CallThreads(const CallThreads&) = delete;
  CallThreads& operator=(const CallThreads&) = delete;
  /// Waits for the calls in progress.
  ~CallThreads();

  /// If the system gives no more threads, the call runs in this one.
  std::future<WireMessage> begin(Call call);

 private:
  using Task = std::packaged_task<WireMessage()>;

  void work();

  Mutex mutex_;
  CondVar changed_;
  std::deque<Task> waiting_ VCAP_GUARDED_BY(mutex_);
  std::size_t idle_ VCAP_GUARDED_BY(mutex_) = 0;
  bool is_ending_ VCAP_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
