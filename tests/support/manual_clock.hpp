// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "support/bounded_wait.hpp"
#include "vcap/base/clock.hpp"

namespace vcap::test {

/// Time that stands still until a test moves it. Thread safety: thread-safe.
class ManualClock final : public Clock {
 public:
  time_point now() const noexcept override {
    const std::lock_guard lock(mutex_);
    return now_;
  }

  void wait_until(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
                  time_point time) override {
    const Sleeper sleeper{&condition, lock.mutex(), time};
    {
      const std::lock_guard own(mutex_);
      if (now_ >= time) return;
      sleepers_.push_back(&sleeper);
      ++sleeps_;
    }
    slept_.notify_all();
    condition.wait(lock);
    const std::lock_guard own(mutex_);
    sleepers_.erase(std::find(sleepers_.begin(), sleepers_.end(), &sleeper));
  }

  /// Moves time forward and wakes sleepers whose time is reached.
  void advance(duration by) {
    std::vector<Sleeper> due;
    {
      const std::lock_guard lock(mutex_);
      now_ += by;
      for (const Sleeper* sleeper : sleepers_)
        if (sleeper->time <= now_) due.push_back(*sleeper);
    }
    for (const Sleeper& sleeper : due) {
      // A sleeper in the list holds its lock until it waits.
      const std::lock_guard lock(*sleeper.mutex);
      sleeper.condition->notify_all();
    }
  }

  /// Returns when a thread sleeps until exactly `time`.
  void await_sleeper(time_point time) const {
    std::unique_lock lock(mutex_);
    bounded_wait(slept_, lock, "a sleeper", [&] {
      return std::any_of(sleepers_.begin(), sleepers_.end(),
                         [&](const Sleeper* sleeper) { return sleeper->time == time; });
    });
  }

  /// How often threads have begun a sleep with an end.
  std::size_t sleeps() const {
    const std::lock_guard lock(mutex_);
    return sleeps_;
  }

 private:
  struct Sleeper {
    std::condition_variable* condition;
    std::mutex* mutex;
    time_point time;
  };

  mutable std::mutex mutex_;
  mutable std::condition_variable slept_;
  // Not the epoch, so that a default time lies in the past.
  time_point now_{std::chrono::hours(1)};
  std::vector<const Sleeper*> sleepers_;
  std::size_t sleeps_ = 0;
};

}  // namespace vcap::test
