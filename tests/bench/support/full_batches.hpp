// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

namespace vcap::bench {

/// A device that takes a + b·n microseconds for n inputs, and keeps a core busy during that time.
struct BusyDevice {
  int a, b;
  void predict(std::size_t n) const;
};

/// Counts the items of a loop, and after a warm-up measures the time of so many items as take some
/// hundred milliseconds. It measures from item to item: one batch more or less in a fixed time
/// would be a jump of some percent. Thread safety: thread-safe.
class ItemWindow {
 public:
  ItemWindow(BusyDevice device, int streams);

  bool over() const { return items_ >= end_after_; }
  void count(int items);
  /// Items per second. Call it when all counting threads have been joined.
  double rate() const;

 private:
  const int begin_after_, end_after_;
  std::atomic<int> items_{0};
  std::chrono::steady_clock::time_point begin_{}, end_{};
};

/// Items per second of a loop that always has full batches: one item of each stream.
double full_batches(BusyDevice device, int streams);

}  // namespace vcap::bench
