// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "base/thread_annotations.hpp"
#include "vcap/base/clock.hpp"

namespace vcap {

/// Calls back if something has not ended by its deadline.
///
/// A new watch wakes its thread only if its deadline is earlier than the one that the thread waits
/// for. So watches that end in time cost no wake-up. Thread safety: thread-safe.
class Watchdog {
 public:
  using time_point = Clock::time_point;

  /// Its destructor ends the watch; the callback may still be running then. Thread-compatible.
  class Watch {
   public:
    Watch() = default;
    Watch(Watch&& other) noexcept
        : dog_(std::exchange(other.dog_, nullptr)), key_(std::move(other.key_)) {}
    Watch& operator=(Watch&& other) noexcept {
      end();
      dog_ = std::exchange(other.dog_, nullptr);
      key_ = std::move(other.key_);
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

  /// Starts the thread; must come before the first watch. Idempotent. Throws std::system_error if
  /// the system gives no thread.
  void start() VCAP_EXCLUDES(mutex_);
  /// Calls `overdue` if the watch has not ended after `limit`. It must not throw. [watchdog's
  /// thread]
  Watch watch(Clock::duration limit, std::function<void()> overdue) VCAP_EXCLUDES(mutex_);

 private:
  void forget(const Watch::Key& key) noexcept VCAP_EXCLUDES(mutex_);
  void run() VCAP_EXCLUDES(mutex_);

  const std::shared_ptr<Clock> clock_;
  Mutex mutex_;
  CondVar changed_;
  std::map<Watch::Key, std::function<void()>> watches_ VCAP_GUARDED_BY(mutex_);
  std::uint64_t next_ VCAP_GUARDED_BY(mutex_) = 0;
  time_point wakes_at_ VCAP_GUARDED_BY(mutex_) = time_point::max();
  bool closed_ VCAP_GUARDED_BY(mutex_) = false;
  std::thread thread_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
