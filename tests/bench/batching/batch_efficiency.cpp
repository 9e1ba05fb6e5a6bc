// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <barrier>
#include <cstddef>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "batching/parts.hpp"
#include "batching/workload.hpp"
#include "support/full_batches.hpp"

namespace vcap::bench::batching {
namespace {

/// Items per second when every stream waits for its answer and then sends again.
double closed_loop(BusyDevice device, int streams) {
  Executor executor([&](std::span<const int> inputs) {
    device.predict(inputs.size());
    return echo(inputs);
  });
  ItemWindow window(device, streams);
  std::vector<std::jthread> callers;
  for (int i = 0; i < streams; ++i)
    callers.emplace_back([&] {
      for (; !window.over(); window.count(1)) executor.run(1);
    });
  callers.clear();
  return window.rate();
}

/// Items per second when the streams meet at a barrier, and one of them predicts for all.
double barrier_loop(BusyDevice device, int streams) {
  ItemWindow window(device, streams);
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

/// Items per second of a barrier with its own thread for predict, as in an executor. The last
/// stream to arrive wakes that thread, and the thread wakes the streams. There is no other work.
double barrier_with_a_worker(BusyDevice device, int streams) {
  ItemWindow window(device, streams);
  std::atomic<bool> over{false};
  std::atomic<int> arrived{0};
  std::atomic<int> full{0}, answered{0};  // numbers of batches
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
  for (const BusyDevice device :
       {BusyDevice{2000, 50}, BusyDevice{500, 100}, BusyDevice{5000, 250}})
    for (const int streams : {8, 16, 32}) {
      const std::string who = std::to_string(streams) + " streams, " + std::to_string(device.a) +
                              " + " + std::to_string(device.b) + "n µs, rate of ";
      using Loop = double (*)(BusyDevice, int);
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
