// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace vcap::bench::streams {

/// The queue of a hand-written pipeline between threads that decode and threads that detect. Thread
/// safety: thread-safe.
template <class Item>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t bound) : bound_(bound) {}

  void push(Item item) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return items_.size() < bound_; });
    items_.push_back(std::move(item));
    filled_.notify_one();
  }
  /// Returns nullopt when the queue is closed and empty.
  std::optional<Item> pop() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return closed_ || !items_.empty(); });
    if (items_.empty()) return {};
    Item item = std::move(items_.front());
    items_.pop_front();
    room_.notify_one();
    return item;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    filled_.notify_all();
  }

 private:
  const std::size_t bound_;
  std::mutex mutex_;
  std::condition_variable room_, filled_;
  std::deque<Item> items_;
  bool closed_ = false;
};

}  // namespace vcap::bench::streams
