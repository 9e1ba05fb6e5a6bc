// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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
  /// What is called for an overdue watch. Returns false if what it watches has just ended. It must
  /// not throw. [watchdog's thread, or that of expire()]
  using Overdue = std::function<bool()>;

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

  /// Starts the thread; must come before the first watch that has a limit. Idempotent. Throws
  /// std::system_error if the system gives no thread.
  void start() VCAP_EXCLUDES(mutex_);
  /// Calls `overdue` if the watch has not ended after `limit`, or when expire() says so. `limit`:
  /// kNoLimit if only expire() ends it. `age`: how long what is watched has lasted already.
  Watch watch(Clock::duration limit, Overdue overdue, Clock::duration age = Clock::duration(0))
      VCAP_EXCLUDES(mutex_);
  /// Treats every watch of what has lasted for at least `age` as overdue. Returns for how many
  /// the callback was true.
  std::size_t expire(Clock::duration age) VCAP_EXCLUDES(mutex_);
  /// Whether the calling thread is in expire(), so that a callback knows why it is called.
  static bool is_expiring() noexcept;

  static constexpr Clock::duration kNoLimit = Clock::duration::max();

 private:
  struct Watched {
    time_point since;
    Overdue overdue;
  };

  void forget(const Watch::Key& key) noexcept VCAP_EXCLUDES(mutex_);
  void run() VCAP_EXCLUDES(mutex_);

  const std::shared_ptr<Clock> clock_;
  Mutex mutex_;
  CondVar changed_;
  std::map<Watch::Key, Watched> watches_ VCAP_GUARDED_BY(mutex_);
  std::uint64_t next_ VCAP_GUARDED_BY(mutex_) = 0;
  time_point wakes_at_ VCAP_GUARDED_BY(mutex_) = time_point::max();
  bool closed_ VCAP_GUARDED_BY(mutex_) = false;
  std::thread thread_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
