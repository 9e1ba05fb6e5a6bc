// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "base/thread_annotations.hpp"

namespace vcap {

/// What one stream has waiting for places of one capsule. Each line gets a place in its turn, so a
/// stream with many frames does not hold back the others. Thread safety: see go_on().
class CallLine {
 public:
  CallLine() = default;
  CallLine(const CallLine&) = delete;
  CallLine& operator=(const CallLine&) = delete;
  virtual ~CallLine();

  /// A place for one thing that waits; it must be given back. Called with no lock of a CallPlaces
  /// held. [any thread that gives a place back]
  virtual void go_on() = 0;

 private:
  friend class CallPlaces;
  std::size_t waiting_ = 0;  ///< guarded as CallPlaces is
};

/// The bound on calls in progress of one capsule, as a number of places.
///
/// A place that is free costs one atomic operation, and so does giving it back. Beyond the bound,
/// lines wait and get places in turns, the line that came first before the others; nothing
/// overtakes them. A passive machine. Thread safety: try_take(), try_take_idle() and leave() are
/// thread-safe; a caller calls the others one at a time.
class CallPlaces {
 public:
  /// `places` 0: no bound; then only is_bounded() may be called.
  explicit CallPlaces(std::size_t places) noexcept
      : places_(places), free_(static_cast<std::int64_t>(places)) {}

  bool is_bounded() const noexcept { return places_ > 0; }
  /// Takes a place. After false, wait() must follow.
  bool try_take() noexcept { return free_.fetch_sub(1, std::memory_order_acq_rel) > 0; }
  /// Takes a place if one is free; after false, nothing follows.
  bool try_take_idle() noexcept;
  /// True if a place came free meanwhile: it is the caller's. Otherwise the line waits with one
  /// thing more.
  bool wait(std::shared_ptr<CallLine> line);
  /// Gives a place back. If true, hand_over() must follow.
  [[nodiscard]] bool leave() noexcept { return free_.fetch_add(1, std::memory_order_acq_rel) < 0; }
  /// The line that gets the place. Null if its wait() has not come yet, which then returns true.
  std::shared_ptr<CallLine> hand_over();

  /// How many things wait in lines.
  std::size_t waiting() const noexcept { return waiting_; }
  std::size_t places() const noexcept { return places_; }
  /// Adds places up to that number; never takes any away. For each new place the caller then calls
  /// leave(). Returns how many.
  std::size_t raise(std::size_t places) noexcept;

 private:
  std::size_t places_;
  /// Free places; below 0, the number of try_take() that wait for one.
  std::atomic<std::int64_t> free_;
  std::deque<std::shared_ptr<CallLine>> lines_{};  ///< each once, in the order of their turns
  std::size_t waiting_ = 0;
  std::size_t ahead_ = 0;  ///< places for those that have not come to wait() yet
};

/// The CallPlaces that the streams of a pipeline share. Thread safety: thread-safe.
class SharedCallPlaces {
 public:
  explicit SharedCallPlaces(std::size_t places) noexcept
      : is_bounded_(places > 0), places_(places) {}

  bool is_bounded() const noexcept { return is_bounded_; }
  /// Takes a place. After false, wait() must follow.
  bool try_take() noexcept { return places_.try_take(); }
  bool try_take_idle() noexcept { return places_.try_take_idle(); }
  bool wait(std::shared_ptr<CallLine> line) VCAP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_, kAdaptive);
    return places_.wait(std::move(line));
  }
  /// Gives a place back. The line that gets it goes on before this returns.
  void leave() VCAP_EXCLUDES(mutex_) {
    if (places_.leave()) hand_over();
  }
  /// Never lowers the number. No effect without a bound.
  void raise(std::size_t places) VCAP_EXCLUDES(mutex_);
  std::size_t waiting() const VCAP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return places_.waiting();
  }
  /// 0: no bound.
  std::size_t places() const VCAP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return places_.places();
  }

 private:
  void hand_over() VCAP_EXCLUDES(mutex_);

  const bool is_bounded_;
  mutable Mutex mutex_;
  /// Its mutex guards it, except the functions that are thread-safe.
  CallPlaces places_;
};

}  // namespace vcap
