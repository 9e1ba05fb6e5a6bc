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

constexpr auto kLoop = 150ms;  // of one sample of a closed loop

/// Items a second of a loop that is always given full batches.
double full_batches(Device device, int streams) {
  std::size_t items = 0;
  const double took = seconds([&] {
    for (const auto end = Clock::now() + kLoop; Clock::now() < end;) {
      device.predict(static_cast<std::size_t>(streams));
      items += static_cast<std::size_t>(streams);
    }
  });
  return static_cast<double>(items) / took;
}

/// Items a second where every stream waits for its answer and then sends again.
double closed_loop(Device device, int streams) {
  Executor executor([&](std::span<const int> inputs) {
    device.predict(inputs.size());
    return echo(inputs);
  });
  std::atomic<std::size_t> items{0};
  const double took = seconds([&] {
    const auto end = Clock::now() + kLoop;
    std::vector<std::jthread> callers;
    for (int i = 0; i < streams; ++i)
      callers.emplace_back([&] {
        for (; Clock::now() < end; ++items) executor.run(1);
      });
  });
  return static_cast<double>(items) / took;
}

/// Items a second where the streams meet at a barrier, and one of them predicts for all.
double barrier_loop(Device device, int streams) {
  std::atomic<bool> over{false};
  std::size_t items = 0;
  const auto end = Clock::now() + kLoop;
  std::barrier barrier(streams, [&]() noexcept {
    device.predict(static_cast<std::size_t>(streams));
    items += static_cast<std::size_t>(streams);
    over = Clock::now() >= end;
  });
  const double took = seconds([&] {
    std::vector<std::jthread> callers;
    for (int i = 0; i < streams; ++i)
      callers.emplace_back([&] {
        while (!over) barrier.arrive_and_wait();
      });
  });
  return static_cast<double>(items) / took;
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
