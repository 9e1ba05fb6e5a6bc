// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <utility>
#include <vector>

namespace vcap::test {

/// For code of a host or an author: makes a call in another thread and waits for its end, at most
/// two minutes. If the caller holds a lock that the call needs, the call does not end in time;
/// all_ended() is false then. Destroy this object before what the calls use. Thread safety:
/// thread-safe.
class CallElsewhere {
 public:
  void operator()(std::function<void()> call) {
    std::future<void> done = std::async(std::launch::async, std::move(call));
    constexpr std::chrono::minutes kLongest(2);  // for a sanitizer on a busy machine
    const bool ended = done.wait_for(kLongest) == std::future_status::ready;
    const std::lock_guard lock(mutex_);
    ++calls_;
    all_ended_ = all_ended_ && ended;
    if (!ended) late_.push_back(std::move(done));
  }
  int calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  /// Whether there were calls, and all have ended in time.
  bool all_ended() const {
    const std::lock_guard lock(mutex_);
    return calls_ > 0 && all_ended_;
  }

 private:
  mutable std::mutex mutex_;
  int calls_ = 0;
  bool all_ended_ = true;
  std::vector<std::future<void>> late_;
};

}  // namespace vcap::test
