// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "batching/parts.hpp"
#include "batching/workload.hpp"
#include "support/bare_timer.hpp"
#include "support/quantile.hpp"

namespace vcap::bench::batching {
namespace {

using std::chrono::microseconds;

const int kWaits = workload(300, 3);  // per sample; three of them are beyond the 99th percentile

/// How late predict begins for a lone request, divided by how late a bare timer returns. Both are
/// quantiles `q`; the waits alternate.
double overshoot(microseconds delay, double q) {
  Clock::time_point began;
  Executor executor(
      [&](std::span<const int> inputs) {
        began = Clock::now();
        return echo(inputs);
      },
      {.max_batch_size = kWindow, .max_queue_delay = delay, .adaptive_linger = false});
  executor.run(0);
  std::vector<double> executors, timers;
  for (int i = 0; i < kWaits; ++i) {
    const auto due = Clock::now() + delay;
    executor.run(i);
    executors.push_back(std::chrono::duration<double>(began - due).count());
    timers.push_back(bare_timer(Clock::now() + delay));
  }
  return quantile(std::move(executors), q) / quantile(std::move(timers), q);
}

}  // namespace

std::vector<Figure> delay_accuracy() {
  std::vector<Figure> figures;
  for (const int delay : {100, 300, 1000, 1500})
    for (const int percentile : {50, 99})
      figures.push_back(
          {.id = "batching.5",
           .what = "delay of " + std::to_string(delay) + " µs, p" + std::to_string(percentile) +
                   " overshoot, that of a bare timer",
           .target = 1.2,
           .sample = [=] { return overshoot(microseconds(delay), percentile / 100.0); }});
  return figures;
}

}  // namespace vcap::bench::batching
