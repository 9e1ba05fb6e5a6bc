// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace vcap::bench {

/// The minimum of a hand-written batcher: a mutex, a condition variable, and a vector that one
/// thread swaps out. It is the baseline of batching figures. Thread safety: push is thread-safe.
template <class Item>
class LoneQueue {
 public:
  explicit LoneQueue(std::function<void(std::vector<Item>&)> consume)
      : consume_(std::move(consume)), thread_([this] { run(); }) {}
  ~LoneQueue() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    condition_.notify_one();
    thread_.join();
  }

  void push(Item item) {
    bool first;
    {
      const std::lock_guard lock(mutex_);
      first = items_.empty();
      items_.push_back(std::move(item));
    }
    if (first) condition_.notify_one();
  }

 private:
  void run() {
    std::vector<Item> taken;
    std::unique_lock lock(mutex_);
    for (;;) {
      condition_.wait(lock, [this] { return closing_ || !items_.empty(); });
      if (items_.empty()) return;
      taken.swap(items_);
      lock.unlock();
      consume_(taken);
      taken.clear();
      lock.lock();
    }
  }

  const std::function<void(std::vector<Item>&)> consume_;
  std::mutex mutex_;
  std::condition_variable condition_;
  std::vector<Item> items_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace vcap::bench
