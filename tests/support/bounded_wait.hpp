// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

namespace vcap::test {

/// The longest wait of a test, for a sanitizer on a busy machine.
constexpr std::chrono::minutes kLongestWait(2);

[[noreturn]] inline void fail_wait(const std::string& what) {
  throw std::runtime_error("this test waited two minutes for " + what);
}

/// Waits until `holds()`, as condition_variable::wait does, but at most two minutes. After that it
/// throws std::runtime_error with the name `what`, so that a test fails instead of hanging.
template <class Predicate>
void bounded_wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                  const std::string& what, Predicate holds) {
  if (!changed.wait_for(lock, kLongestWait, holds)) fail_wait(what);
}

/// Yields until `holds()`, for what notifies nobody. Bounded as bounded_wait() is.
template <class Predicate>
void yield_until(const std::string& what, Predicate holds) {
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) fail_wait(what);
    std::this_thread::yield();
  }
}

/// Opens once and wakes all waiting threads.
class Latch {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  /// Bounded as bounded_wait() is; `what` opens the latch.
  void wait(const std::string& what = "a latch") {
    std::unique_lock lock(mutex_);
    bounded_wait(changed_, lock, what, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

/// Lets that number of threads go on once all of them have arrived.
class Meeting {
 public:
  explicit Meeting(int threads) : missing_(threads) {}

  /// Bounded as bounded_wait() is; `what` brings the other threads. After the bound, every thread
  /// throws at once, so that threads that come one by one do not wait one by one.
  void arrive_and_wait(const std::string& what) {
    std::unique_lock lock(mutex_);
    if (--missing_ == 0) changed_.notify_all();
    if (failed_) fail_wait(what);
    failed_ = !changed_.wait_for(lock, kLongestWait, [this] { return missing_ <= 0; });
    if (failed_) fail_wait(what);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int missing_;
  bool failed_ = false;
};

}  // namespace vcap::test
