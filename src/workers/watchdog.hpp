// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "vcap/base/clock.hpp"

namespace vcap {

/// Calls back if something has not ended by its deadline.
///
/// The thread starts with the first watch. A new watch wakes it only if its deadline is earlier
/// than the one that the thread waits for. So watches that end in time cost no wake-up. Thread
/// safety: thread-safe.
class Watchdog {
 public:
  using time_point = Clock::time_point;

  /// Its destructor ends the watch; the callback may still be running then. Thread-compatible.
  class Watch {
   public:
    Watch() = default;
    Watch(Watch&& other) noexcept : dog_(std::exchange(other.dog_, nullptr)), key_(other.key_) {}
    Watch& operator=(Watch&& other) noexcept {
      end();
      dog_ = std::exchange(other.dog_, nullptr);
      key_ = other.key_;
      return *this;
    }
    ~Watch() { end(); }
    void end() noexcept {
      if (Watchdog* dog = std::exchange(dog_, nullptr)) dog->forget(key_);
    }

   private:
    friend class Watchdog;
    using Key = std::pair<time_point, std::uint64_t>;
    Watch(Watchdog& dog, Key key) : dog_(&dog), key_(key) {}
    Watchdog* dog_ = nullptr;
    Key key_{};
  };

  explicit Watchdog(std::shared_ptr<Clock> clock) : clock_(std::move(clock)) {}
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Calls `overdue` if the watch has not ended after `limit`. It must not throw. [watchdog's
  /// thread]
  Watch watch(Clock::duration limit, std::function<void()> overdue);

 private:
  void forget(const Watch::Key& key) noexcept;
  void run();

  const std::shared_ptr<Clock> clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Watch::Key, std::function<void()>> watches_;
  std::uint64_t next_ = 0;
  time_point wakes_at_ = time_point::max();
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace vcap
