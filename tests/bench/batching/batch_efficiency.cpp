// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "batching/parts.hpp"
#include "batching/workload.hpp"

namespace vcap::bench::batching {
namespace {

/// A device that takes a + b·n microseconds for n inputs.
struct Device {
  int a, b;
  void predict(std::size_t n) const {
    const auto until = Clock::now() + std::chrono::microseconds(a + b * static_cast<int>(n));
    while (Clock::now() < until) {
    }
  }
};

/// Counts the items of a loop, and takes the time of some hundred milliseconds' worth once the loop
/// has found its pace. From item to item, not by the clock: a batch more or less in a span of time
/// would be a jump of some percent. Thread-safe.
class Window {
 public:
  Window(Device device, int streams)
      : begin_after_(kWarmUpBatches * streams),
        end_after_(begin_after_ +
                   streams * std::max(30, 300'000 / (device.a + device.b * streams))) {}

  bool over() const { return items_ >= end_after_; }
  void count(int items) {
    const int before = items_.fetch_add(items);
    const auto passes = [&](int border) { return before < border && before + items >= border; };
    if (passes(begin_after_)) begin_ = Clock::now();
    if (passes(end_after_)) end_ = Clock::now();
  }
  /// Items a second; once all who count have been joined.
  double rate() const {
    return (end_after_ - begin_after_) / std::chrono::duration<double>(end_ - begin_).count();
  }

 private:
  static constexpr int kWarmUpBatches = 20;
  const int begin_after_, end_after_;
  std::atomic<int> items_{0};
  Clock::time_point begin_{}, end_{};
};

/// Items a second of a loop that is always given full batches.
double full_batches(Device device, int streams) {
  for (Window window(device, streams);;) {
    device.predict(static_cast<std::size_t>(streams));
    window.count(streams);
    if (window.over()) return window.rate();
  }
}

/// Items a second where every stream waits for its answer and then sends again.
double closed_loop(Device device, int streams) {
  Executor executor([&](std::span<const int> inputs) {
    device.predict(inputs.size());
    return echo(inputs);
  });
  Window window(device, streams);
  std::vector<std::jthread> callers;
  for (int i = 0; i < streams; ++i)
    callers.emplace_back([&] {
      for (; !window.over(); window.count(1)) executor.run(1);
    });
  callers.clear();
  return window.rate();
}

/// Items a second where the streams meet at a barrier, and one of them predicts for all.
double barrier_loop(Device device, int streams) {
  Window window(device, streams);
  std::atomic<bool> over{false};
  std::barrier barrier(streams, [&]() noexcept {
    device.predict(static_cast<std::size_t>(streams));
    window.count(streams);
    over = window.over();
  });
  std::vector<std::jthread> callers;
  for (int i = 0; i < streams; ++i)
    callers.emplace_back([&] {
      while (!over) barrier.arrive_and_wait();
    });
  callers.clear();
  return window.rate();
}

/// Items a second of a barrier whose predict has a thread of its own, as an executor's has: the
/// last stream to come wakes that thread, and it wakes the streams. Nothing else is done.
double barrier_with_a_worker(Device device, int streams) {
  Window window(device, streams);
  std::atomic<bool> over{false};
  std::atomic<int> arrived{0};
  std::atomic<int> full{0}, answered{0};  // counts of batches
  std::vector<std::jthread> threads;
  threads.emplace_back([&] {
    for (int batch = 0; !over; ++batch) {
      full.wait(batch);
      device.predict(static_cast<std::size_t>(streams));
      window.count(streams);
      over = window.over();
      ++answered;
      answered.notify_all();
    }
  });
  for (int i = 0; i < streams; ++i)
    threads.emplace_back([&] {
      for (int batch = 0; !over; ++batch) {
        if (++arrived == streams) {
          arrived = 0;
          ++full;
          full.notify_one();
        }
        answered.wait(batch);
      }
    });
  threads.clear();
  return window.rate();
}

}  // namespace

std::vector<Figure> batch_efficiency() {
  std::vector<Figure> figures;
  for (const Device device : {Device{2000, 50}, Device{500, 100}, Device{5000, 250}})
    for (const int streams : {8, 16, 32}) {
      const std::string who = std::to_string(streams) + " streams, " + std::to_string(device.a) +
                              " + " + std::to_string(device.b) + "n µs, rate of ";
      using Loop = double (*)(Device, int);
      const auto add = [&](const std::string& what, Loop loop, Loop baseline, double target) {
        figures.push_back({.id = "batching.3",
                           .what = what,
                           .target = target,
                           .better = Better::higher,
                           .sample = [=] {
                             return ratio([=] { return loop(device, streams); },
                                          [=] { return baseline(device, streams); });
                           }});
      };
      add(who + "full batches", closed_loop, full_batches, 0.93);
      add("floor of " + who + "full batches", barrier_with_a_worker, full_batches, 0.93);
      add(who + "a barrier", closed_loop, barrier_loop, 0.97);
      add("floor of " + who + "a barrier", barrier_with_a_worker, barrier_loop, 0.97);
    }
  return figures;
}

}  // namespace vcap::bench::batching
