// SPDX-License-Identifier: Apache-2.0
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

using namespace std::chrono_literals;

/// A device that takes a + b·n microseconds for n inputs.
struct Device {
  int a, b;
  void predict(std::size_t n) const {
    const auto until = Clock::now() + std::chrono::microseconds(a + b * static_cast<int>(n));
    while (Clock::now() < until) {
    }
  }
};

/// Counts items once the loop has found its pace.
class Window {
 public:
  static constexpr auto kWarmUp = 100ms, kLength = 300ms;

  bool over() const { return Clock::now() >= begin_ + kLength; }
  void count(std::size_t items) {
    if (const auto now = Clock::now(); now >= begin_ && now < begin_ + kLength) items_ += items;
  }
  double rate() const {
    return static_cast<double>(items_) / std::chrono::duration<double>(kLength).count();
  }

 private:
  const Clock::time_point begin_ = Clock::now() + kWarmUp;
  std::atomic<std::size_t> items_{0};
};

/// Items a second of a loop that is always given full batches.
double full_batches(Device device, int streams) {
  for (Window window;;) {
    device.predict(static_cast<std::size_t>(streams));
    window.count(static_cast<std::size_t>(streams));
    if (window.over()) return window.rate();
  }
}

/// Items a second where every stream waits for its answer and then sends again.
double closed_loop(Device device, int streams) {
  Executor executor([&](std::span<const int> inputs) {
    device.predict(inputs.size());
    return echo(inputs);
  });
  Window window;
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
  Window window;
  std::atomic<bool> over{false};
  std::barrier barrier(streams, [&]() noexcept {
    device.predict(static_cast<std::size_t>(streams));
    window.count(static_cast<std::size_t>(streams));
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

}  // namespace

std::vector<Figure> batch_efficiency() {
  std::vector<Figure> figures;
  for (const Device device : {Device{2000, 50}, Device{500, 100}, Device{5000, 250}})
    for (const int streams : {8, 16, 32}) {
      const std::string who = std::to_string(streams) + " streams, " + std::to_string(device.a) +
                              " + " + std::to_string(device.b) + "n µs, rate of ";
      const auto ratio_to = [=](double (*baseline)(Device, int)) {
        return [=] {
          return ratio([=] { return closed_loop(device, streams); },
                       [=] { return baseline(device, streams); });
        };
      };
      figures.push_back({.id = "batching.3",
                         .what = who + "full batches",
                         .target = 0.93,
                         .better = Better::higher,
                         .sample = ratio_to(full_batches)});
      figures.push_back({.id = "batching.3",
                         .what = who + "a barrier",
                         .target = 0.97,
                         .better = Better::higher,
                         .sample = ratio_to(barrier_loop)});
    }
  return figures;
}

}  // namespace vcap::bench::batching
