// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <span>
#include <vector>

#include "support/bounded_wait.hpp"

namespace vcap::test {

/// A model that doubles numbers and records each batch. A test can hold it within a batch. It must
/// outlive its executor; tests declare it first. Thread safety: thread-safe.
class Predictor {
 public:
  std::vector<int> operator()(std::span<const int> inputs) {
    std::unique_lock lock(mutex_);
    batches_.emplace_back(inputs.begin(), inputs.end());
    changed_.notify_all();
    bounded_wait(changed_, lock, "the release of a batch", [this] { return !held_; });
    std::vector<int> outputs;
    for (const int input : inputs) outputs.push_back(2 * input);
    return outputs;
  }

  /// From now on batches stay within predict until release().
  void hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }
  /// Returns once `count` batches have begun.
  void await_batches(std::size_t count) {
    std::unique_lock lock(mutex_);
    bounded_wait(changed_, lock, "a batch", [&] { return batches_.size() >= count; });
  }
  std::vector<std::vector<int>> batches() const {
    const std::lock_guard lock(mutex_);
    return batches_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<int>> batches_;
  bool held_ = false;
};

}  // namespace vcap::test
