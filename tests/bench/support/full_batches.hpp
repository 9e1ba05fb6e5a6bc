// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

namespace vcap::bench {

/// A device that takes a + b·n microseconds for n inputs, and a core meanwhile.
struct BusyDevice {
  int a, b;
  void predict(std::size_t n) const;
};

/// Counts the items of a loop, and takes the time of some hundred milliseconds' worth once the loop
/// has found its pace. From item to item, not by the clock: a batch more or less in a span of time
/// would be a jump of some percent. Thread-safe.
class ItemWindow {
 public:
  ItemWindow(BusyDevice device, int streams);

  bool over() const { return items_ >= end_after_; }
  void count(int items);
  /// Items a second; once all who count have been joined.
  double rate() const;

 private:
  static constexpr int kWarmUpBatches = 20;
  const int begin_after_, end_after_;
  std::atomic<int> items_{0};
  std::chrono::steady_clock::time_point begin_{}, end_{};
};

/// Items a second of a loop that is always given full batches: one item of each stream.
double full_batches(BusyDevice device, int streams);

}  // namespace vcap::bench
